//! How workers find each other: every two of them connect, and check that they belong to the same job.

use super::TcpCommunicator;
use super::exchange::PeerLink;
use crate::Interrupt;
use crate::error::{Error, Result};
use crate::hash;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const MAGIC: [u8; 8] = *b"rrteam01";
const TOKEN: usize = 32;
/// The marker, the token, the version, the number of workers, the sender's rank and the receiver's.
const HELLO: usize = MAGIC.len() + TOKEN + 4 * 8;
/// The marker, the token, and whether the connection is refused.
const ANSWER: usize = MAGIC.len() + TOKEN + 8;
/// How long a connection may take to say who it is, and how many may take that long at a time.
const PATIENCE: Duration = Duration::from_secs(5);
const MOST_UNKNOWN: usize = 64;
/// How often the clock and the interrupt are looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// A secret that the workers of a job share: random bytes.
#[derive(Clone, Copy)]
pub struct Token(pub [u8; TOKEN]);

impl Token {
    /// Whether another token is the same; takes as long whatever differs.
    fn is_same(&self, other: &[u8]) -> bool {
        let differs =
            self.0.iter().zip(other).fold(0, |differs, (own, other)| differs | (own ^ other));
        other.len() == TOKEN && differs == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The workers of a job, as each of them knows it.
#[derive(Debug, Clone)]
pub struct TcpGroup {
    /// Where each worker listens, as `host:port`, by rank.
    pub addresses: Vec<String>,
    /// The secret of the job.
    pub token: Token,
    /// How long a worker waits for the others: to connect, and in each operation.
    pub deadline: Duration,
    /// Ends all waiting.
    pub interrupt: Interrupt,
}

/// A port on which a worker waits for the others, before it knows where they are.
#[derive(Debug)]
pub struct TcpListening(TcpListener);

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Stranger = 1,
    Token = 2,
    Version = 3,
    Size = 4,
    Rank = 5,
}

impl Refusal {
    const ALL: [Self; 5] = [Self::Stranger, Self::Token, Self::Version, Self::Size, Self::Rank];

    fn text(self) -> &'static str {
        match self {
            Self::Stranger => "what connected is no worker",
            Self::Token => "the token is another: a worker of another job",
            Self::Version => "the worker has another version of rustrank",
            Self::Size => "the worker has another number of workers",
            Self::Rank => "the rank is already there, or not one of the job",
        }
    }
}

/// What a worker says when it connects.
#[derive(Debug)]
struct Hello {
    token: [u8; TOKEN],
    version: u64,
    size: u64,
    from: u64,
    to: u64,
}

impl Hello {
    fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.version, self.size, self.from, self.to].map(u64::to_le_bytes);
        [&MAGIC[..], &self.token, &numbers.concat()].concat()
    }

    fn of(bytes: &[u8; HELLO]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (token, numbers) = rest.split_first_chunk::<TOKEN>()?;
        let mut words = numbers.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
        let mut word = || words.next()?.ok();
        Some(Self { token: *token, version: word()?, size: word()?, from: word()?, to: word()? })
    }
}

fn version() -> u64 {
    hash::bytes(env!("CARGO_PKG_VERSION").as_bytes())
}

impl TcpListening {
    /// Listens on an address of this machine, such as `0.0.0.0`, and a port; with 0 on a free one.
    pub fn on(host: &str, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((host, port));
        listener.map(Self).map_err(|error| {
            let what = format!("cannot listen on {host}, port {port}: {error}");
            Error::comm("comm.listen", what)
        })
    }

    /// The port.
    pub fn port(&self) -> Result<u16> {
        let address = self.0.local_addr().map_err(|error| failed("the listening port", &error))?;
        Ok(address.port())
    }

    /// Connects this worker to all others, and listens no more.
    pub fn connect(self, rank: usize, group: &TcpGroup) -> Result<TcpCommunicator> {
        let size = group.addresses.len();
        if rank >= size {
            return Err(Error::param("rank", "rank is out of range").got(rank).expected(size));
        }
        let mut links: Vec<Option<PeerLink>> = (0..size).map(|_| None).collect();
        let until = Until { end: Instant::now() + group.deadline, interrupt: &group.interrupt };
        for (other, link) in links.iter_mut().enumerate().take(rank) {
            *link = Some(connected(rank, other, group, until)?);
        }
        self.accept(rank, group, &mut links, until)?;
        Ok(TcpCommunicator::new(rank, links, group))
    }

    /// Waits for the workers of higher ranks.
    fn accept(
        &self,
        rank: usize,
        group: &TcpGroup,
        links: &mut [Option<PeerLink>],
        until: Until<'_>,
    ) -> Result<()> {
        let of_port = |error: io::Error| failed("the listening port", &error);
        self.0.set_nonblocking(true).map_err(of_port)?;
        let callers = Callers::new();
        let mut refused = None;
        while links.iter().skip(rank + 1).any(Option::is_none) {
            until.check().map_err(|error| match error {
                Some(error) => error,
                None => absent(rank, group, links, refused),
            })?;
            match self.0.accept() {
                Ok((stream, _)) => callers.ask(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
                // A caller that has gone again, or too many open files.
                Err(_) => thread::sleep(PAUSE),
            }
            while let Ok((hello, stream)) = callers.answers.try_recv() {
                match checked(rank, group, links, hello) {
                    Ok(from) => links[from] = welcomed(stream, group),
                    Err(refusal) => {
                        refuse(&stream, refusal);
                        refused = Some(refusal);
                    }
                }
            }
        }
        Ok(())
    }
}

/// When to wait no more.
#[derive(Debug, Clone, Copy)]
struct Until<'a> {
    end: Instant,
    interrupt: &'a Interrupt,
}

impl Until<'_> {
    /// An error if waiting is over: `None` if it is late, and else that of the interrupt.
    fn check(self) -> std::result::Result<(), Option<Error>> {
        self.interrupt.check().map_err(Some)?;
        if Instant::now() > self.end { Err(None) } else { Ok(()) }
    }
}

/// Connections that have not yet said who they are.
#[derive(Debug)]
struct Callers {
    sender: Sender<(Option<Hello>, TcpStream)>,
    answers: Receiver<(Option<Hello>, TcpStream)>,
    unknown: Arc<AtomicUsize>,
}

impl Callers {
    fn new() -> Self {
        let (sender, answers) = channel();
        Self { sender, answers, unknown: Arc::default() }
    }

    /// Reads who a connection is, on a thread of its own: it may say nothing for a while. Those above the
    /// limit are closed.
    fn ask(&self, stream: TcpStream) {
        if self.unknown.fetch_add(1, Ordering::Relaxed) >= MOST_UNKNOWN {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let (sender, unknown) = (self.sender.clone(), Arc::clone(&self.unknown));
        let read = move || {
            let mut bytes = [0; HELLO];
            let timeouts =
                stream.set_nonblocking(false).and(stream.set_read_timeout(Some(PATIENCE)));
            let read = timeouts.and_then(|()| (&stream).read_exact(&mut bytes));
            unknown.fetch_sub(1, Ordering::Relaxed);
            // Nobody may be listening any more.
            let _ = sender.send((read.ok().and_then(|()| Hello::of(&bytes)), stream));
        };
        if thread::Builder::new().spawn(read).is_err() {
            self.unknown.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The rank of a worker that may connect.
fn checked(
    rank: usize,
    group: &TcpGroup,
    links: &[Option<PeerLink>],
    hello: Option<Hello>,
) -> std::result::Result<usize, Refusal> {
    let hello = hello.ok_or(Refusal::Stranger)?;
    if !group.token.is_same(&hello.token) {
        return Err(Refusal::Token);
    }
    if hello.version != version() {
        return Err(Refusal::Version);
    }
    if hello.size != links.len() as u64 {
        return Err(Refusal::Size);
    }
    let from = usize::try_from(hello.from).unwrap_or(usize::MAX);
    let is_awaited = from > rank && links.get(from).is_some_and(Option::is_none);
    if is_awaited && hello.to == rank as u64 { Ok(from) } else { Err(Refusal::Rank) }
}

/// The connection of a worker that is told so; `None` if it is gone, and may come again.
fn welcomed(stream: TcpStream, group: &TcpGroup) -> Option<PeerLink> {
    let answer = [&MAGIC[..], &group.token.0, &[0; 8]].concat();
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    (&stream).write_all(&answer).ok()?;
    PeerLink::new(stream).ok()
}

/// Tells a connection why it is refused, without the token.
fn refuse(mut stream: &TcpStream, refusal: Refusal) {
    let answer = [&MAGIC[..], &[0; TOKEN], &(refusal as u64).to_le_bytes()].concat();
    // A stranger need not be told.
    let _ = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(&answer));
}

/// The connection to a worker of a lower rank.
fn connected(rank: usize, other: usize, group: &TcpGroup, until: Until<'_>) -> Result<PeerLink> {
    let address = &group.addresses[other];
    let hello = Hello {
        token: group.token.0,
        version: version(),
        size: group.addresses.len() as u64,
        from: rank as u64,
        to: other as u64,
    };
    let at = format!("rank {other} at {address}");
    let stream = reached(address, &at, until)?;
    let of_link = |error: io::Error| failed(&at, &error);
    stream.set_read_timeout(Some(PAUSE)).and(stream.set_nodelay(true)).map_err(of_link)?;
    (&stream).write_all(&hello.to_bytes()).map_err(of_link)?;
    let mut answer = [0; ANSWER];
    let mut read = 0;
    while read < ANSWER {
        match (&stream).read(&mut answer[read..]) {
            Ok(0) => return Err(Error::comm("comm.refused", format!("{at} cut the connection"))),
            Ok(more) => read += more,
            Err(error) if is_timeout(&error) => until.check().map_err(|error| {
                error.unwrap_or_else(|| Error::comm_timeout(format!("{at} did not answer")))
            })?,
            Err(error) => return Err(of_link(error)),
        }
    }
    let (token, state) = answer[MAGIC.len()..].split_at(TOKEN);
    let refusal = Refusal::ALL.into_iter().find(|one| state == (*one as u64).to_le_bytes());
    if !answer.starts_with(&MAGIC) || (refusal.is_none() && !group.token.is_same(token)) {
        return Err(Error::comm(
            "comm.refused",
            format!("what answers as {at} is no worker of this job"),
        ));
    }
    match refusal {
        Some(refusal) => {
            let what = format!("{at} refused the connection: {}", refusal.text());
            Err(Error::comm("comm.refused", what))
        }
        None => PeerLink::new(stream).map_err(of_link),
    }
}

/// A connection to an address, tried again until somebody listens there.
fn reached(address: &str, at: &str, until: Until<'_>) -> Result<TcpStream> {
    loop {
        let error = match once_reached(address) {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::InvalidInput {
            return Err(failed(at, &error));
        }
        until.check().map_err(|late| {
            late.unwrap_or_else(|| Error::comm_timeout(format!("{at} cannot be reached: {error}")))
        })?;
        thread::sleep(10 * PAUSE);
    }
}

fn once_reached(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for one in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::comm("comm.failed", format!("{what}: {error}"))
}

/// The error of a worker that some others have not connected to in time.
fn absent(
    rank: usize,
    group: &TcpGroup,
    links: &[Option<PeerLink>],
    refused: Option<Refusal>,
) -> Error {
    let missing = links.iter().enumerate().skip(rank + 1).filter(|(_, link)| link.is_none());
    let missing: Vec<_> = missing.map(|(rank, _)| rank.to_string()).collect();
    let ranks = if missing.len() == 1 { "rank" } else { "ranks" };
    let (missing, seconds) = (missing.join(", "), group.deadline.as_secs_f64());
    let error =
        Error::comm_timeout(format!("{ranks} {missing} did not connect within {seconds} s"));
    match refused {
        Some(refusal) => {
            error.got(format!("another connection that was refused ({})", refusal.text()))
        }
        None => error,
    }
}
