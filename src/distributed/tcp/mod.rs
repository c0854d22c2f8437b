//! Collectives over TCP, between workers that an engine such as Spark, Dask or Ray has started.
//!
//! Each worker listens on a port ([`TcpListening`]). The engine tells every worker the addresses of all and
//! a secret token, and every two workers connect ([`TcpListening::connect`]): a connection without the
//! token, of another version or of another job is refused. The result is a [`TcpCommunicator`].
//!
//! A sum of few words is exchanged whole, by one message to each worker. A longer one is reduced in parts, of
//! which each worker sums one, and the sums are then gathered: each worker sends and receives twice the
//! length of the sum, however many workers there are. All messages of a step are sent and received at the
//! same time by one thread.
//!
//! Nothing is encrypted: workers belong in a trusted network. The token only keeps strangers and other jobs
//! out.

mod exchange;
mod handshake;

pub use handshake::{TcpGroup, TcpListening, Token};

use super::Communicator;
use crate::Interrupt;
use crate::error::{Error, Result, lock};
use bytemuck::Pod;
use exchange::{Destination, Exchange, Operation, PeerLink, Transfer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The most bytes of a sum that every worker sends whole to every other.
const MOST_WHOLE: usize = 16 << 10;

/// A worker that is connected to all others.
///
/// An operation waits for the other workers until the deadline of the group has passed or its interrupt is
/// raised. After an error, the others are told of it, and no further operation works.
#[derive(Debug)]
pub struct TcpCommunicator {
    rank: usize,
    /// The connections to the other workers; `None` at this worker's own rank.
    links: Vec<Option<PeerLink>>,
    deadline: Duration,
    interrupt: Mutex<Interrupt>,
    calls: AtomicU64,
    is_broken: AtomicBool,
    /// Space for what the other workers send of a sum.
    received: Mutex<Vec<u64>>,
}

impl TcpCommunicator {
    /// The connections at the ranks of the other workers.
    fn new(rank: usize, links: Vec<Option<PeerLink>>, group: &TcpGroup) -> Self {
        Self {
            rank,
            links,
            deadline: group.deadline,
            interrupt: Mutex::new(group.interrupt.clone()),
            calls: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            received: Mutex::default(),
        }
    }

    /// Runs a collective; after an error, tells the others of it.
    fn collective<T>(
        &self,
        operation: Operation,
        length: usize,
        work: impl FnOnce(&Exchange<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(Error::comm("comm.broken", "the workers have lost each other before"));
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let interrupt = lock(&self.interrupt).clone();
        let exchange = Exchange {
            operation,
            number,
            length: length as u64,
            deadline: self.deadline,
            interrupt: &interrupt,
        };
        let done = work(&exchange);
        if let Err(error) = &done {
            self.leave(&error.to_string());
        }
        done
    }

    /// The other workers, in the order of their ranks.
    fn others(&self) -> impl Iterator<Item = (usize, &PeerLink)> {
        self.links.iter().enumerate().filter_map(|(rank, link)| Some((rank, link.as_ref()?)))
    }

    /// Replaces each value by what joins those of all workers, which are joined by rank.
    fn reduce<T: Pod>(
        &self,
        operation: Operation,
        values: &mut [T],
        join: fn(T, T) -> T,
    ) -> Result<()> {
        let length = size_of_val(values);
        let in_parts = length > MOST_WHOLE && values.len() >= self.size();
        self.collective(operation, length, |exchange| {
            if in_parts {
                self.reduce_parts(exchange, values, join)
            } else {
                self.reduce_whole(exchange, values, join)
            }
        })
    }

    /// Every worker sends all of its values to all others.
    fn reduce_whole<T: Pod>(
        &self,
        exchange: &Exchange<'_>,
        values: &mut [T],
        join: fn(T, T) -> T,
    ) -> Result<()> {
        let mut received = lock(&self.received);
        let theirs = space_for::<T>(&mut received, values.len() * (self.size() - 1));
        let own: &[u8] = bytemuck::cast_slice(values);
        let parts = parts_of(theirs, values.len());
        self.swap(exchange, |_| own, parts)?;
        self.join_all(theirs, values, join);
        Ok(())
    }

    /// Joins the values of the others, in the order of their ranks, with the worker's own.
    fn join_all<T: Pod>(&self, theirs: &[T], values: &mut [T], join: fn(T, T) -> T) {
        let width = values.len();
        for (at, value) in values.iter_mut().enumerate() {
            let of = |other: usize| theirs[other * width + at];
            let before = (0..self.rank).map(of);
            let after = (self.rank..self.size() - 1).map(of);
            let own = std::iter::once(*value);
            if let Some(joined) = before.chain(own).chain(after).reduce(join) {
                *value = joined;
            }
        }
    }

    /// Every worker joins one part of the values, and sends it to all others.
    fn reduce_parts<T: Pod>(
        &self,
        exchange: &Exchange<'_>,
        values: &mut [T],
        join: fn(T, T) -> T,
    ) -> Result<()> {
        let size = self.size();
        let start = |rank: usize| values.len() * rank / size;
        let width = start(self.rank + 1) - start(self.rank);
        let starts: Vec<usize> = (0..=size).map(start).collect();
        let mut received = lock(&self.received);
        let theirs = space_for::<T>(&mut received, width * (size - 1));
        let parts = parts_of(theirs, width);
        let of = |rank: usize| bytemuck::cast_slice(&values[starts[rank]..starts[rank + 1]]);
        self.swap(exchange, of, parts)?;
        let mut parts: Vec<&mut [T]> = Vec::with_capacity(size);
        let mut rest = values;
        for rank in 0..size {
            let (part, after) = rest.split_at_mut(starts[rank + 1] - starts[rank]);
            parts.push(part);
            rest = after;
        }
        let own = parts.remove(self.rank);
        self.join_all(theirs, own, join);
        let own = bytemuck::cast_slice(own);
        self.swap(exchange, |_| own, parts.into_iter())
    }

    /// Sends each other worker, by its rank, some bytes, and receives as many values as its part has.
    fn swap<'a, T: Pod>(
        &'a self,
        exchange: &Exchange<'_>,
        own: impl Fn(usize) -> &'a [u8],
        parts: impl Iterator<Item = &'a mut [T]>,
    ) -> Result<()> {
        let transfers = self.others().zip(parts).map(|((rank, link), part)| {
            let theirs = Destination::Slice(bytemuck::cast_slice_mut(part));
            Transfer::new(rank, link, exchange, own(rank), theirs)
        });
        exchange.run(&mut transfers.collect::<Vec<_>>())
    }
}

/// Room for so many values of eight bytes, without clearing what is there.
fn space_for<T: Pod>(received: &mut Vec<u64>, values: usize) -> &mut [T] {
    const { assert!(size_of::<T>() == size_of::<u64>()) };
    if received.len() < values {
        received.resize(values, 0);
    }
    bytemuck::cast_slice_mut(&mut received[..values])
}

/// Parts of the same width, also where that is 0.
fn parts_of<T>(mut values: &mut [T], width: usize) -> impl Iterator<Item = &mut [T]> {
    std::iter::from_fn(move || {
        let (part, rest) = std::mem::take(&mut values).split_at_mut(width);
        values = rest;
        Some(part)
    })
}

impl Communicator for TcpCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.links.len()
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        self.reduce(Operation::Sum, values, i64::wrapping_add)
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        self.reduce(Operation::Max, values, f64::max)
    }

    fn leave(&self, why: &str) {
        if !self.is_broken.swap(true, Ordering::Relaxed) {
            self.links.iter().flatten().for_each(|link| link.leave(why));
        }
    }

    fn watch(&self, interrupt: &Interrupt) {
        *lock(&self.interrupt) = interrupt.clone();
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.collective(Operation::Gather, 0, |exchange| {
            let transfers = self.others().map(|(rank, link)| {
                Transfer::new(rank, link, exchange, own, Destination::Any(Vec::new()))
            });
            let mut transfers: Vec<_> = transfers.collect();
            exchange.run(&mut transfers)?;
            let mut all: Vec<Vec<u8>> = transfers.into_iter().map(Transfer::into_bytes).collect();
            all.insert(self.rank, own.to_vec());
            Ok(all)
        })
    }
}
