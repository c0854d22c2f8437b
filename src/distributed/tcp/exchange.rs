//! One step of a collective: a message to every other worker, and one from each, all at the same time.
//!
//! A message has a head of three words: the operation, its number, and the number of bytes that follow. A worker
//! that fails sends a message with the reason instead, so that the others do not wait for it.

use crate::Interrupt;
use crate::error::{Error, Result};
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const HEAD: usize = 24;
/// The longest reason that a failed worker sends.
const MOST_REASON: usize = 4096;
/// For how long a worker that waits for the others looks for messages again and again before it sleeps.
const BUSY: Duration = Duration::from_millis(1);
/// The shortest and the longest time that it sleeps.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// What the workers do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Sum = 1,
    Max = 2,
    Gather = 3,
    /// The worker has failed.
    Leave = 4,
}

impl Operation {
    fn of(number: u64) -> Option<Self> {
        [Self::Sum, Self::Max, Self::Gather, Self::Leave]
            .into_iter()
            .find(|one| *one as u64 == number)
    }
}

/// A connection to another worker, which does not block.
#[derive(Debug)]
pub(super) struct PeerLink {
    stream: TcpStream,
    /// Whether the first bytes of a message were sent, and the last were not.
    is_partial: AtomicBool,
}

impl PeerLink {
    /// A connection that both sides have agreed on.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, is_partial: AtomicBool::new(false) })
    }

    /// Tells the other worker why this one takes part no more. It may have gone itself.
    pub(super) fn leave(&self, why: &str) {
        if !self.is_partial.load(Ordering::Relaxed) {
            let why = &why.as_bytes()[..why.len().min(MOST_REASON)];
            let head = head(Operation::Leave as u64, 0, why.len() as u64);
            let _ = (&self.stream).write_all(&[&head, why].concat());
        }
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

fn head(operation: u64, number: u64, length: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    for (to, word) in head.chunks_exact_mut(8).zip([operation, number, length]) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    head
}

/// Where the bytes of another worker go.
#[derive(Debug)]
pub(super) enum Destination<'a> {
    /// As many bytes as fit.
    Slice(&'a mut [u8]),
    /// As many as it sends.
    Any(Vec<u8>),
}

impl Destination<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Slice(bytes) => bytes,
            Self::Any(bytes) => bytes,
        }
    }
}

/// A message to another worker and the one from it.
#[derive(Debug)]
pub(super) struct Transfer<'a> {
    rank: usize,
    link: &'a PeerLink,
    head: [u8; HEAD],
    own: &'a [u8],
    sent: usize,
    their_head: [u8; HEAD],
    theirs: Destination<'a>,
    received: usize,
    /// The number of bytes after the head, once this is there.
    length: Option<usize>,
    /// Whether the other worker has failed, and what it sends is the reason.
    has_left: bool,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        rank: usize,
        link: &'a PeerLink,
        exchange: &Exchange<'_>,
        own: &'a [u8],
        theirs: Destination<'a>,
    ) -> Self {
        Self {
            rank,
            link,
            head: head(exchange.operation as u64, exchange.number, own.len() as u64),
            own,
            sent: 0,
            their_head: [0; HEAD],
            theirs,
            received: 0,
            length: None,
            has_left: false,
        }
    }

    /// The bytes that came, if there was no target for them.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.theirs {
            Destination::Any(bytes) => bytes,
            Destination::Slice(bytes) => bytes.to_vec(),
        }
    }

    fn is_sent(&self) -> bool {
        self.sent == HEAD + self.own.len()
    }

    fn is_received(&self) -> bool {
        self.length.is_some_and(|length| self.received == HEAD + length)
    }

    /// Sends what the system takes: whether that was something.
    fn send(&mut self) -> bool {
        let mut has_moved = false;
        while !self.is_sent() {
            let head = &self.head[self.sent.min(HEAD)..];
            let own = &self.own[self.sent.saturating_sub(HEAD)..];
            match (&self.link.stream).write_vectored(&[IoSlice::new(head), IoSlice::new(own)]) {
                Err(error) if waits(&error) => break,
                // The other worker is gone. What it has sent before may say why, and is read next.
                Ok(0) | Err(_) => self.sent = HEAD + self.own.len(),
                Ok(sent) => self.sent += sent,
            }
            has_moved = true;
        }
        self.link.is_partial.store(!self.is_sent() && self.sent > 0, Ordering::Relaxed);
        has_moved
    }

    /// Receives what is there: whether that was something.
    fn receive(&mut self, exchange: &Exchange<'_>) -> Result<bool> {
        let mut has_moved = false;
        while !self.is_received() {
            let space = if self.length.is_some() {
                &mut self.theirs.bytes()[self.received - HEAD..]
            } else {
                &mut self.their_head[self.received..]
            };
            match (&self.link.stream).read(space) {
                Ok(0) => return Err(self.gone()),
                Ok(received) => self.received += received,
                Err(error) if waits(&error) => return Ok(has_moved),
                Err(_) => return Err(self.gone()),
            }
            has_moved = true;
            if self.received == HEAD && self.length.is_none() {
                self.take_head(exchange)?;
            }
        }
        if self.has_left {
            let why = String::from_utf8_lossy(self.theirs.bytes());
            return Err(Error::comm("comm.rank", format!("rank {} has failed: {why}", self.rank)));
        }
        Ok(has_moved)
    }

    /// Checks that the other worker is at the same operation, and makes room for its message.
    fn take_head(&mut self, exchange: &Exchange<'_>) -> Result<()> {
        let word = |at: usize| -> [u8; 8] { std::array::from_fn(|i| self.their_head[8 * at + i]) };
        let [operation, number, length] = [0, 1, 2].map(|at| u64::from_le_bytes(word(at)));
        let operation = Operation::of(operation);
        self.has_left = operation == Some(Operation::Leave) && length <= MOST_REASON as u64;
        if !self.has_left {
            let fits = match &self.theirs {
                Destination::Slice(bytes) => bytes.len() as u64 == length,
                Destination::Any(_) => true,
            };
            if operation != Some(exchange.operation) || number != exchange.number || !fits {
                return Err(exchange.disagrees(self.rank, operation, number));
            }
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if self.has_left || matches!(self.theirs, Destination::Any(_)) {
            let mut bytes = Vec::new();
            let what = format!("the message of rank {}", self.rank);
            bytes.try_reserve_exact(length).map_err(|_| Error::resource(&what, length as u64))?;
            bytes.resize(length, 0);
            self.theirs = Destination::Any(bytes);
        }
        self.length = Some(length);
        Ok(())
    }

    fn gone(&self) -> Error {
        Error::comm("comm.lost", format!("rank {} has ended or cut the connection", self.rank))
    }
}

/// Whether the system only has to be asked again.
fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// One collective operation.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub(super) operation: Operation,
    /// Which operation since the beginning it is.
    pub(super) number: u64,
    /// The bytes of a sum or of largest values.
    pub(super) length: u64,
    pub(super) deadline: Duration,
    pub(super) interrupt: &'a Interrupt,
}

impl Exchange<'_> {
    /// Sends and receives until all messages are complete.
    pub(super) fn run(&self, transfers: &mut [Transfer<'_>]) -> Result<()> {
        let mut idle_since = None;
        let mut pause = SLEEPS[0];
        loop {
            let (mut has_moved, mut is_complete) = (false, true);
            for transfer in &mut *transfers {
                has_moved |= transfer.send();
                has_moved |= transfer.receive(self)?;
                is_complete &= transfer.is_sent() && transfer.is_received();
            }
            if is_complete {
                return Ok(());
            }
            if has_moved {
                (idle_since, pause) = (None, SLEEPS[0]);
                continue;
            }
            let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
            self.interrupt.check()?;
            if idle > self.deadline {
                return Err(self.late(transfers));
            }
            if idle < BUSY {
                thread::yield_now();
            } else {
                thread::sleep(pause);
                pause = (2 * pause).min(SLEEPS[1]);
            }
        }
    }

    fn late(&self, transfers: &[Transfer<'_>]) -> Error {
        let is_late = |transfer: &&Transfer<'_>| !(transfer.is_sent() && transfer.is_received());
        let late: Vec<_> =
            transfers.iter().filter(is_late).map(|one| one.rank.to_string()).collect();
        let ranks = if late.len() == 1 { "rank" } else { "ranks" };
        let seconds = self.deadline.as_secs_f64();
        let late = late.join(", ");
        Error::comm_timeout(format!("{ranks} {late} did not answer for {seconds} s, in {self}"))
    }

    fn disagrees(&self, rank: usize, operation: Option<Operation>, number: u64) -> Error {
        let theirs = operation.map_or("nothing known", name);
        let what = "the ranks are not at the same collective, or not with the same size";
        Error::comm("comm.order", what)
            .got(format!("rank {rank} at {theirs} {number}, this rank at {self}"))
    }
}

fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Sum => "sum",
        Operation::Max => "maximum",
        Operation::Gather => "all-gather",
        Operation::Leave => "its end",
    }
}

impl fmt::Display for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", name(self.operation), self.number)?;
        if self.length > 0 { write!(f, " of {} bytes", self.length) } else { Ok(()) }
    }
}
