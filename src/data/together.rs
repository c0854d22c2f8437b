//! Data of which each rank of a team has a part: whole queries.
//!
//! Bins are chosen from the sample that one process would take of all the data, so that a team of any
//! size bins alike. Before anything is learned, no query stands in two parts.
//!
//! Cost: the sample travels once, and sixteen bytes a query.

use super::dataset::Dataset;
use crate::binning::{BinOptions, Binning, RowSample};
use crate::distributed::{Collective, WorkerGroup};
use crate::error::{Error, Result};
use crate::{Interrupt, hash};

/// The bins of the rows that all ranks have sampled, the same on all ranks.
pub fn bins_together(
    team: &WorkerGroup,
    sample: Result<RowSample>,
    options: &BinOptions,
    interrupt: &Interrupt,
) -> Result<Binning> {
    let sample = together(team, sample)?;
    let num_features = sample.num_features();
    let chosen = Binning::choose(sample, num_features, options, interrupt);
    let binning = team.agree(Collective::at_start("bins"), chosen)?;
    team.same(Collective::at_start("bins"), "list of thresholds", Ok(fingerprint(&binning)))?;
    Ok(binning)
}

/// The sample of the rows of all ranks.
fn together(team: &WorkerGroup, sample: Result<RowSample>) -> Result<RowSample> {
    if team.is_alone() {
        return sample;
    }
    let (own, mut sample) = match sample {
        Ok(mut sample) => (Ok(sample.hashes()), sample),
        Err(error) => (Err(error), RowSample::growing(1)),
    };
    let own = own.map(|hashes| bytemuck::cast_slice(&hashes).to_vec());
    let all = team.gather(Collective::at_start("the hashes of a sample"), own)?;
    let mut hashes: Vec<u64> = all.iter().flat_map(|bytes| words(bytes)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let limit = sample.limit();
    let largest = hashes.get(limit - 1).copied().unwrap_or(u64::MAX);
    let own = sample.bytes_up_to(largest);
    drop(sample);
    let all = team.gather(Collective::at_start("the rows of a sample"), Ok(own))?;
    let mut sample = RowSample::growing(limit);
    all.iter().try_for_each(|bytes| sample.extend(bytes))?;
    if sample.num_features() == 0 {
        return Err(super::dataset::no_features());
    }
    Ok(sample)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned)
}

/// A number for all thresholds.
pub(crate) fn fingerprint(binning: &Binning) -> u64 {
    binning.mappers().iter().fold(binning.num_features() as u64, |h, mapper| {
        let bins = match mapper.categories() {
            Some(categories) => bytemuck::cast_slice(categories.by_bin()),
            None => bytemuck::cast_slice(mapper.thresholds()),
        };
        let of = hash::bytes(bins) ^ mapper.num_codes() as u64;
        hash::mix(h.rotate_left(1) ^ of ^ u64::from(mapper.is_used()) << 32)
    })
}

/// The queries of a rank, known by their ids.
#[derive(Debug, Clone, Copy)]
pub struct NamedQueries<'a, T> {
    /// The part of the data that they are in.
    pub dataset: &'a Dataset,
    /// The id of each of the caller's queries.
    pub ids: &'a [T],
    /// Whether a query may stand in the parts of some ranks, if it is the same there.
    pub may_overlap: bool,
}

/// The bytes of ids that a rank holds at a time.
const MOST_BYTES: u64 = 1 << 26;

/// An error on all ranks if a query stands in the parts of two, or with other docs than in another
/// part.
pub fn check_queries<T: AsRef<str>>(
    team: &WorkerGroup,
    queries: &NamedQueries<'_, T>,
) -> Result<()> {
    let listed = queries.listed();
    let num = *listed.as_ref().map(Vec::len).as_ref().unwrap_or(&0) as f64;
    let mut most = [num];
    let call = Collective::at_start("the number of queries");
    team.max(
        call,
        listed.as_ref().map(|_| ()).map_err(|e| Error::data("query.ids", e.to_string())),
        &mut most,
    )?;
    let mut listed = listed?;
    listed.sort_unstable();
    let parts = (16 * most[0] as u64 * team.size() as u64).div_ceil(MOST_BYTES).max(1);
    let width = u64::MAX / parts;
    for part in 0..parts {
        let is_last = part + 1 == parts;
        let (low, high) = (part * width, if is_last { u64::MAX } else { (part + 1) * width });
        let here = |id: &&[u64; 3]| id[0] >= low && (id[0] < high || is_last);
        let own: Vec<u64> =
            listed.iter().filter(here).flat_map(|[id, content, _]| [*id, *content]).collect();
        let call = Collective { what: "the ids of queries", round: part };
        let all = team.gather(call, Ok(bytemuck::cast_slice(&own).to_vec()))?;
        let Some((id, ranks)) = clash(&all, queries.may_overlap) else { continue };
        let name = listed.iter().find(|other| other[0] == id).map(|other| other[2] as usize);
        let name = name.map_or("", |at| queries.ids[at].as_ref());
        let names = team.gather(Collective::at_start("a name"), Ok(name.as_bytes().to_vec()))?;
        let name = String::from_utf8_lossy(&names[ranks[0]]).into_owned();
        return Err(split(&name, ranks, queries.may_overlap));
    }
    Ok(())
}

/// The least id that stands where it must not, and two ranks that have it.
fn clash(all: &[Vec<u8>], may_overlap: bool) -> Option<(u64, [usize; 2])> {
    let of_rank = |(rank, bytes): (usize, &Vec<u8>)| {
        let words: Vec<u64> = words(bytes).collect();
        let pairs: Vec<_> = words.chunks_exact(2).map(|pair| (pair[0], rank, pair[1])).collect();
        pairs
    };
    let mut listed: Vec<(u64, usize, u64)> = all.iter().enumerate().flat_map(of_rank).collect();
    listed.sort_unstable();
    let clashes = |pair: &&[(u64, usize, u64)]| {
        pair[0].0 == pair[1].0 && !(may_overlap && pair[0].2 == pair[1].2)
    };
    let pair = listed.windows(2).find(clashes)?;
    Some((pair[0].0, [pair[0].1, pair[1].1]))
}

fn split(name: &str, [first, second]: [usize; 2], may_overlap: bool) -> Error {
    let what = if may_overlap {
        format!("query {name} of rank {first} has other docs on rank {second}")
    } else {
        format!("query {name} is in the parts of ranks {first} and {second}")
    };
    Error::data("query.split", what)
        .hint("a query, whole, belongs to one part: make shards by query, or say that they overlap")
}

impl<T: AsRef<str>> NamedQueries<'_, T> {
    /// Of each query a hash of its id, one of its content, and its number.
    fn listed(&self) -> Result<Vec<[u64; 3]>> {
        let (dataset, ids) = (self.dataset, self.ids);
        let num = dataset.queries().len();
        if ids.len() != num {
            return Err(Error::data("query.ids", "another number of ids than of queries")
                .got(ids.len())
                .expected(num));
        }
        let queries = dataset.query_of().iter().zip(dataset.query_hash());
        let listed = |(&query, &content): (&u32, &u64)| {
            [hash::bytes(ids[query as usize].as_ref().as_bytes()), content, u64::from(query)]
        };
        Ok(queries.map(listed).collect())
    }
}
