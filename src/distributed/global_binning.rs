//! Data distributed over workers: bins for the whole data, and the check that no query is split.
//!
//! Each worker has a shard of whole queries. Bins are chosen from the sample that a single process would
//! take of all the data, so they do not depend on the number of workers.
//!
//! Cost: the sample is sent once, and sixteen bytes per query.

use super::{Collective, WorkerGroup};
use crate::binning::{BinOptions, Binning, RowSample};
use crate::data::load::TextLoader;
use crate::data::{Dataset, LoadOptions, Loaded};
use crate::error::{Error, Result};
use crate::{Interrupt, hash};
use std::path::Path;
use std::sync::Arc;

/// Loads the shard of one worker, with the bins that a single process would choose for all shards.
/// Without paths, the shard has no documents.
pub fn load_shard(
    paths: &[impl AsRef<Path>],
    team: &WorkerGroup,
    options: &LoadOptions,
    interrupt: &Interrupt,
) -> Result<Loaded> {
    team.watch(interrupt);
    let mut shard = TextLoader::default();
    let read = shard.read(paths, options, interrupt);
    let mut width = [shard.num_features as f64];
    team.max(Collective::at_start("the number of features"), read, &mut width)?;
    let sampled = shard.sample(width[0] as usize, options, interrupt);
    let binning = Arc::new(choose_global_bins(team, sampled, &options.bins, interrupt)?);
    let loaded = shard.finish(binning, options, interrupt);
    team.agree(Collective::at_start("the parts of the data"), loaded)
}

/// The bins of the rows that all workers have sampled, the same on all of them.
pub fn choose_global_bins(
    team: &WorkerGroup,
    sample: Result<RowSample>,
    options: &BinOptions,
    interrupt: &Interrupt,
) -> Result<Binning> {
    team.watch(interrupt);
    let sample = gather_sample(team, sample)?;
    let chosen = Binning::choose(sample, options, interrupt);
    let binning = team.agree(Collective::at_start("bins"), chosen)?;
    team.same(Collective::at_start("list of thresholds"), binning.fingerprint())?;
    Ok(binning)
}

/// The sample of the rows of all workers.
fn gather_sample(team: &WorkerGroup, sample: Result<RowSample>) -> Result<RowSample> {
    if team.is_alone() {
        return sample;
    }
    let (own, mut sample) = match sample {
        Ok(mut sample) => (Ok(sample.hashes()), sample),
        Err(error) => (Err(error), RowSample::growing(1)),
    };
    let own = own.map(|hashes| bytemuck::cast_slice(&hashes).to_vec());
    let all = team.gather(Collective::at_start("the hashes of a sample"), own)?;
    let mut hashes: Vec<u64> =
        all.iter().flat_map(|bytes| bytemuck::pod_collect_to_vec(bytes)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let limit = sample.limit();
    let largest = hashes.get(limit - 1).copied().unwrap_or(u64::MAX);
    let own = sample.bytes_up_to(largest);
    drop(sample);
    let all = team.gather(Collective::at_start("the rows of a sample"), Ok(own))?;
    let mut sample = RowSample::growing(limit);
    all.iter().try_for_each(|bytes| sample.extend(bytes))?;
    Ok(sample)
}

/// The queries of a worker with their ids.
#[derive(Debug, Clone, Copy)]
pub struct NamedQueries<'a, T> {
    /// The shard that they are in.
    pub dataset: &'a Dataset,
    /// The id of each of the caller's queries.
    pub ids: &'a [T],
    /// Whether several shards may have a query, if it is the same in all of them.
    pub may_overlap: bool,
}

/// The most bytes of ids that a worker holds at a time.
const MOST_BYTES: u64 = 1 << 26;

/// An error on all workers if two shards have a query, or have it with different documents where
/// overlaps are allowed.
pub fn check_queries<T: AsRef<str>>(
    team: &WorkerGroup,
    queries: &NamedQueries<'_, T>,
) -> Result<()> {
    let mut keys = team.agree(Collective::at_start("the ids of queries"), queries.keys())?;
    let mut most = [keys.len() as f64];
    team.max(Collective::at_start("the number of queries"), Ok(()), &mut most)?;
    keys.sort_unstable();
    let parts = (16 * most[0] as u64 * team.size() as u64).div_ceil(MOST_BYTES).max(1);
    let width = u64::MAX / parts;
    for part in 0..parts {
        let is_last = part + 1 == parts;
        let (low, high) = (part * width, if is_last { u64::MAX } else { (part + 1) * width });
        let here = |[id_hash, _]: &[u64; 2]| *id_hash >= low && (*id_hash < high || is_last);
        let own: Vec<[u64; 2]> = keys.iter().copied().filter(here).collect();
        let call = Collective { what: "the ids of queries", round: part };
        let all = team.gather(call, Ok(bytemuck::cast_slice(&own).to_vec()))?;
        let Some([first, second]) = clash(&all, queries.may_overlap) else { continue };
        let own = queries.ids.iter().find(|id| id_hash(id) == first.id_hash);
        let name = own.map_or("", AsRef::as_ref);
        let names = team.gather(Collective::at_start("a name"), Ok(name.as_bytes().to_vec()))?;
        let name = String::from_utf8_lossy(&names[first.rank]);
        return Err(split_query(&name, [first.rank, second.rank], queries.may_overlap));
    }
    Ok(())
}

/// A query of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WorkerQuery {
    id_hash: u64,
    rank: usize,
    content: u64,
}

/// The first query, by the hash of the id, that two workers have and must not.
fn clash(all: &[Vec<u8>], may_overlap: bool) -> Option<[WorkerQuery; 2]> {
    let mut queries = Vec::new();
    for (rank, bytes) in all.iter().enumerate() {
        let keys: Vec<[u64; 2]> = bytemuck::pod_collect_to_vec(bytes);
        let query = |[id_hash, content]: [u64; 2]| WorkerQuery { id_hash, rank, content };
        queries.extend(keys.into_iter().map(query));
    }
    queries.sort_unstable();
    let clashes = |[one, other]: &[WorkerQuery; 2]| {
        one.id_hash == other.id_hash && !(may_overlap && one.content == other.content)
    };
    queries.windows(2).map(|pair| [pair[0], pair[1]]).find(clashes)
}

/// The error for a query that two workers have.
fn split_query(name: &str, [first, second]: [usize; 2], may_overlap: bool) -> Error {
    let what = if may_overlap {
        format!("query {name} of rank {first} has other docs on rank {second}")
    } else {
        format!("query {name} is in the parts of ranks {first} and {second}")
    };
    Error::data("query.split", what)
        .hint("a query, whole, belongs to one part: make shards by query, or say that they overlap")
}

fn id_hash(id: &impl AsRef<str>) -> u64 {
    hash::bytes(id.as_ref().as_bytes())
}

impl<T: AsRef<str>> NamedQueries<'_, T> {
    /// The hash of the id and of the content of each query.
    fn keys(&self) -> Result<Vec<[u64; 2]>> {
        let (dataset, ids) = (self.dataset, self.ids);
        let num = dataset.queries().len();
        if ids.len() != num {
            return Err(Error::data("query.ids", "another number of ids than of queries")
                .got(ids.len())
                .expected(num));
        }
        let queries = dataset.query_of().iter().zip(dataset.query_hash());
        Ok(queries.map(|(&query, &content)| [id_hash(&ids[query as usize]), content]).collect())
    }
}
