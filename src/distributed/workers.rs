//! Collectives with checked messages.

use super::Communicator;
use crate::Interrupt;
use crate::error::{Error, Result, lock};
use crate::hash;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The number of words that follow the values of a sum: the number of the collective, its purpose,
/// the number of failed workers, and a checksum.
pub const FRAME: usize = 4;

/// The purpose of a collective, which must be the same on all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// What is exchanged.
    pub what: &'static str,
    /// The round of training, or 0.
    pub round: u64,
}

impl Collective {
    /// A collective before the first round.
    pub fn at_start(what: &'static str) -> Self {
        Self { what, round: 0 }
    }
}

/// The collectives of a worker so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectiveCounts {
    /// The number of collectives.
    pub calls: u64,
    /// The bytes of this worker's messages. The traffic is a multiple of that, depending on the
    /// algorithm of the communicator.
    pub bytes: u64,
}

/// A group of workers that exchange checked messages.
///
/// The caller passes its own error, if it has one, to the next collective, which then fails on all
/// workers. Clones refer to the same group. The default is a group of one worker.
#[derive(Debug, Clone, Default)]
pub struct WorkerGroup(Arc<GroupState>);

#[derive(Debug, Default)]
struct GroupState {
    /// `None` for a single worker.
    comm: Option<Box<dyn Communicator>>,
    calls: AtomicU64,
    bytes: AtomicU64,
    /// The first error of this worker since the last collective.
    pending: Mutex<Option<Error>>,
    /// Whether the workers may be out of step.
    is_broken: AtomicBool,
}

/// A collective in progress.
#[derive(Debug, Clone, Copy)]
struct PendingCollective<'a> {
    comm: &'a dyn Communicator,
    call: Collective,
    number: u64,
}

impl PendingCollective<'_> {
    /// A hash of everything that must be the same on all workers.
    fn tag(self, length: usize) -> u64 {
        let parts = [self.number, self.call.round, length as u64];
        parts.into_iter().fold(hash::bytes(self.call.what.as_bytes()), |h, x| hash::mix(h ^ x))
    }
}

impl WorkerGroup {
    /// The workers that a communicator connects.
    pub fn new(comm: Box<dyn Communicator>) -> Self {
        Self(Arc::new(GroupState { comm: Some(comm), ..GroupState::default() }))
    }

    /// The rank of this worker, from 0.
    pub fn rank(&self) -> usize {
        self.0.comm.as_ref().map_or(0, |comm| comm.rank())
    }

    /// The number of workers.
    pub fn size(&self) -> usize {
        self.0.comm.as_ref().map_or(1, |comm| comm.size())
    }

    /// Whether this worker is the only one.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Tells the other workers that this one takes part no more, and why, if the communicator can.
    pub fn leave(&self, why: &str) {
        self.0.is_broken.store(true, Ordering::Relaxed);
        if let Some(comm) = &self.0.comm {
            comm.leave(why);
        }
    }

    /// Has collectives from now on end when a flag is raised, if the communicator can.
    pub fn watch(&self, interrupt: &Interrupt) {
        if let Some(comm) = &self.0.comm {
            comm.watch(interrupt);
        }
    }

    /// The collectives of this worker so far.
    pub fn counts(&self) -> CollectiveCounts {
        let [calls, bytes] =
            [&self.0.calls, &self.0.bytes].map(|count| count.load(Ordering::Relaxed));
        CollectiveCounts { calls, bytes }
    }

    /// Keeps an error of this worker for the next collective, which returns it, on this worker as
    /// it is, and on the others as that of a worker.
    pub fn fail_later(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            lock(&self.0.pending).get_or_insert(error);
        }
    }

    /// All-reduce: replaces each value by the sum over all workers, modulo 2^64.
    pub fn sum(&self, call: Collective, own: Result<()>, values: &mut [u64]) -> Result<()> {
        let mut framed = values.to_vec();
        framed.resize(values.len() + FRAME, 0);
        self.sum_framed(call, own, &mut framed)?;
        values.copy_from_slice(&framed[..values.len()]);
        Ok(())
    }

    /// As [`sum`](Self::sum), in place: the last [`FRAME`] words are space for the frame.
    ///
    /// # Panics
    /// If there is no such space.
    pub fn sum_framed(&self, call: Collective, own: Result<()>, framed: &mut [u64]) -> Result<()> {
        let own = self.outcome(own);
        let Some(current) = self.begin(call, size_of_val(framed))? else { return own };
        let (values, frame) = framed.split_at_mut(framed.len() - FRAME);
        let (number, tag) = (current.number, current.tag(values.len()));
        frame.copy_from_slice(&[number, tag, u64::from(own.is_err()), total(values)]);
        self.unbroken(current.comm.sum_i64(bytemuck::cast_slice_mut(framed)))?;
        let (values, frame) = framed.split_at(framed.len() - FRAME);
        let size = self.size() as u64;
        let as_mine = |own: u64| own.wrapping_mul(size);
        if frame[0] != as_mine(number) || frame[1] != as_mine(tag) {
            return Err(self.disagree(current));
        }
        if frame[2] > 0 {
            return Err(self.failure_of(current, own));
        }
        if frame[3] == total(values) { own } else { Err(self.damaged(current)) }
    }

    /// All-reduce: replaces each value by the largest over all workers; none is NaN.
    pub fn max(&self, call: Collective, own: Result<()>, values: &mut [f64]) -> Result<()> {
        let own = self.outcome(own);
        let Some(current) = self.begin(call, size_of_val(values) + 24)? else { return own };
        // If a number and its negative both are the largest, all workers have it.
        let tag = (current.tag(values.len()) >> 12) as f64;
        let mut framed = values.to_vec();
        framed.extend([tag, -tag, f64::from(u8::from(own.is_err()))]);
        self.unbroken(current.comm.max_f64(&mut framed))?;
        let (largest, frame) = framed.split_at(values.len());
        if frame[..2] != [tag, -tag] {
            return Err(self.disagree(current));
        }
        if frame[2] > 0.0 {
            return Err(self.failure_of(current, own));
        }
        if largest.iter().zip(&*values).any(|(largest, own)| largest < own) {
            return Err(self.damaged(current));
        }
        values.copy_from_slice(largest);
        own
    }

    /// All-gather: the bytes of each worker, by rank.
    pub fn gather(&self, call: Collective, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let own = self.outcome(own);
        let text = own.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let payload = own.as_ref().map_or(text.as_bytes(), Vec::as_slice);
        let Some(current) = self.begin(call, 8 * FRAME + payload.len())? else {
            return own.map(|own| vec![own]);
        };
        let frame = [current.number, current.tag(0), u64::from(own.is_err()), hash::bytes(payload)];
        let message = [bytemuck::cast_slice(&frame), payload].concat();
        let mut all = self.unbroken(current.comm.allgather(&message))?;
        let frames: Option<Vec<[u64; FRAME]>> = all.iter().map(|bytes| frame_of(bytes)).collect();
        let size = 8 * FRAME;
        let is_same = |frames: &Vec<[u64; FRAME]>| {
            frames.len() == self.size() && frames.iter().all(|other| other[..2] == frame[..2])
        };
        let Some(frames) = frames.filter(is_same) else { return Err(self.disagree(current)) };
        if frames.iter().zip(&all).any(|(frame, bytes)| frame[3] != hash::bytes(&bytes[size..])) {
            return Err(self.damaged(current));
        }
        if let Some(rank) = frames.iter().position(|frame| frame[2] > 0) {
            let text = String::from_utf8_lossy(&all[rank][size..]).into_owned();
            return Err(own.err().unwrap_or_else(|| of_rank(rank, &text)));
        }
        for bytes in &mut all {
            bytes.drain(..size);
        }
        Ok(all)
    }

    /// Returns the worker's own result if all workers have one, and an error otherwise.
    pub fn agree<T>(&self, call: Collective, own: Result<T>) -> Result<T> {
        let mut value = None;
        let outcome = own.map(|own| value = Some(own));
        self.sum(call, outcome, &mut [])?;
        value.ok_or_else(|| Error::internal("a failure that nobody has heard of"))
    }

    /// Returns an error unless a number is the same on all workers; the collective names it.
    pub fn same(&self, call: Collective, own: u64) -> Result<()> {
        let all = self.gather(call, Ok(own.to_le_bytes().to_vec()))?;
        let Some(rank) = all.iter().position(|other| *other != all[0]) else { return Ok(()) };
        let what = format!("rank {rank} has another {} than rank 0", call.what);
        Err(Error::comm("comm.differ", what))
    }

    /// The outcome of this worker's steps since the last collective.
    fn outcome<T>(&self, own: Result<T>) -> Result<T> {
        lock(&self.0.pending).take().map_or(own, Err)
    }

    /// Begins a collective with a message of this many bytes; `None` without other workers.
    fn begin(&self, call: Collective, bytes: usize) -> Result<Option<PendingCollective<'_>>> {
        let Some(comm) = self.0.comm.as_deref().filter(|comm| comm.size() > 1) else {
            return Ok(None);
        };
        if self.0.is_broken.load(Ordering::Relaxed) {
            let what = format!("{}: the ranks have lost each other before", call.what);
            return Err(Error::comm("comm.broken", what));
        }
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let number = self.0.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Some(PendingCollective { comm, call, number }))
    }

    fn unbroken<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
        result
    }

    /// The error if workers are at different collectives, which all of them notice.
    fn disagree(&self, current: PendingCollective<'_>) -> Error {
        self.0.is_broken.store(true, Ordering::Relaxed);
        let PendingCollective { call, number, .. } = current;
        let own = format!("{} in round {} (call {number})", call.what, call.round);
        let all = current.comm.allgather(own.as_bytes()).unwrap_or_default();
        let state = |(rank, text): (usize, &Vec<u8>)| {
            format!("rank {rank} at {}", String::from_utf8_lossy(text))
        };
        let states: Vec<String> = all.iter().enumerate().map(state).collect();
        let what = "the ranks are not at the same collective, or not with the same size";
        Error::comm("comm.order", what).got(if states.is_empty() { own } else { states.join(", ") })
    }

    /// The error of the worker that has failed.
    fn failure_of(&self, current: PendingCollective<'_>, own: Result<()>) -> Error {
        let text = own.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let all = self.unbroken(current.comm.allgather(text.as_bytes())).unwrap_or_default();
        match (own, all.iter().position(|text| !text.is_empty())) {
            (Err(error), _) => error,
            (_, Some(rank)) => of_rank(rank, &String::from_utf8_lossy(&all[rank])),
            _ => Error::comm("comm.rank", format!("{}: a rank has failed", current.call.what)),
        }
    }

    fn damaged(&self, current: PendingCollective<'_>) -> Error {
        self.0.is_broken.store(true, Ordering::Relaxed);
        let Collective { what, round } = current.call;
        Error::comm("comm.damaged", format!("{what} in round {round}: a message was damaged"))
    }
}

fn of_rank(rank: usize, text: &str) -> Error {
    Error::comm("comm.rank", format!("rank {rank} has failed: {text}"))
}

fn total(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
}

fn frame_of(bytes: &[u8]) -> Option<[u64; FRAME]> {
    let frame = bytes.get(..8 * FRAME)?;
    Some(bytemuck::pod_read_unaligned(frame))
}
