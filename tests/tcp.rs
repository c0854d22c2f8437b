//! Workers over TCP: collectives, connections that are refused, and lost workers.

#![expect(clippy::unwrap_used, reason = "a test")]

mod team_training;
mod thread_workers;

use rustrank::distributed::{
    Collective, Communicator, TcpCommunicator, TcpGroup, TcpListening, Token, WorkerGroup,
};
use rustrank::objective::ObjectiveKind;
use rustrank::random::draw;
use rustrank::{Error, ErrorKind, Interrupt, Result};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use team_training::{alone, by_part, grow, loss, params, rows};
use thread_workers::ThreadWorkers;

const TOKEN: Token = Token([7; 32]);
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);

/// The ports of some workers, and the group that they are.
fn listening(size: usize, deadline: Duration) -> (Vec<TcpListening>, TcpGroup) {
    let ports: Vec<_> = (0..size).map(|_| TcpListening::on("127.0.0.1", 0).unwrap()).collect();
    let address = |port: &TcpListening| format!("127.0.0.1:{}", port.port().unwrap());
    let addresses = ports.iter().map(address).collect();
    let interrupt = Interrupt::new();
    (ports, TcpGroup { addresses, token: TOKEN, deadline, interrupt })
}

/// What some workers return, each on a thread of its own.
fn with_tcp<T: Send>(
    size: usize,
    deadline: Duration,
    work: impl Fn(TcpCommunicator) -> T + Sync,
) -> Vec<T> {
    let (ports, group) = listening(size, deadline);
    each(ports, |rank, port| work(port.connect(rank, &group).unwrap()))
}

/// What a function returns for each thing, with its number, all at the same time.
fn each<U: Send, T: Send>(things: Vec<U>, work: impl Fn(usize, U) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let things = things.into_iter().enumerate();
        let threads: Vec<_> =
            things.map(|(number, thing)| scope.spawn(move || work(number, thing))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn code(error: &Error) -> &'static str {
    error.fault().unwrap().code
}

/// Collectives of lengths on both sides of the limit of whole messages, with values that overflow.
fn results(comm: &dyn Communicator) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for (round, length) in [0, 1, 3, 500, 2047, 2048, 2049, 5000, 300_001].into_iter().enumerate() {
        let value = |at: usize| draw(round as u64, comm.rank() as u64, at as u64);
        let mut sums: Vec<i64> = (0..length).map(|at| value(at).cast_signed()).collect();
        comm.sum_i64(&mut sums)?;
        all.extend(sums.iter().map(|value| value.cast_unsigned()));
        let mut largest: Vec<f64> =
            (0..length).map(|at| (value(at) % 1000) as f64 - 500.0).collect();
        comm.max_f64(&mut largest)?;
        all.extend(largest.iter().map(|value| value.to_bits()));
        let own: Vec<u8> = (0..length * comm.rank() / 2).map(|at| value(at) as u8).collect();
        for (rank, bytes) in comm.allgather(&own)?.iter().enumerate() {
            all.push(rank as u64);
            all.extend(bytes.iter().map(|&byte| u64::from(byte)));
        }
    }
    Ok(all)
}

#[test]
fn collectives_are_those_of_the_slow_workers() {
    for size in [1, 2, 3, 7] {
        let slow = ThreadWorkers::new(size, LONG).run(|comm| results(&comm).unwrap());
        let fast = with_tcp(size, LONG, |comm| results(&comm).unwrap());
        assert!(slow == fast, "{size} workers");
    }
}

#[test]
fn workers_train_the_model_of_one_process() {
    let rows = rows();
    let of = || (params(grow()), loss(ObjectiveKind::LambdaRank, "ndcg@10"));
    let (params, loss) = of();
    let expected = alone(&rows, params, loss);
    for size in [2, 3, 4] {
        let told = with_tcp(size, LONG, |comm| by_part(Box::new(comm), 1, &rows, of).unwrap());
        for outcome in told {
            assert_eq!(outcome, expected, "{size} workers");
        }
    }
}

#[test]
fn a_worker_that_has_left_is_named() {
    let told = with_tcp(3, LONG, |comm| {
        if comm.rank() == 2 {
            return Ok(());
        }
        comm.sum_i64(&mut vec![1; 10_000])
    });
    assert!(told[2].is_ok());
    let texts: Vec<String> =
        told[..2].iter().map(|told| told.as_ref().unwrap_err().to_string()).collect();
    // One of the two may hear of it from the other.
    assert!(texts.iter().all(|text| text.contains("rank 2 has ended or cut")), "{texts:?}");
}

#[test]
fn a_silent_worker_is_named_after_the_deadline() {
    let told = with_tcp(3, SHORT, |comm| {
        if comm.rank() == 1 {
            thread::sleep(3 * SHORT);
        }
        // What the others have sent is there, and only the next sum fails.
        comm.sum_i64(&mut [1; 4])?;
        comm.sum_i64(&mut [1; 4])
    });
    for rank in [0, 2] {
        let error = told[rank].as_ref().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("rank 1 did not answer for 1 s, in sum 0 of 32 bytes"), "{text}");
        assert!(matches!(error.kind(), ErrorKind::CommTimeout(_) | ErrorKind::Comm(_)));
    }
    // It wakes up, and is told.
    let text = told[1].as_ref().unwrap_err().to_string();
    assert!(text.contains("has failed: rank"), "{text}");
}

#[test]
fn workers_at_different_operations_are_told() {
    let ways: [fn(&TcpCommunicator) -> Result<()>; 4] = [
        |comm| comm.sum_i64(&mut [1; 10]),
        |comm| comm.sum_i64(&mut [1; 11]),
        |comm| comm.max_f64(&mut [1.0; 10]),
        |comm| comm.allgather(&[0; 80]).map(|_| ()),
    ];
    for other in 1..4 {
        let told = with_tcp(2, LONG, |comm| ways[other * comm.rank()](&comm));
        for told in told {
            let error = told.unwrap_err();
            // The second to look may be told by the first.
            assert!(["comm.order", "comm.rank"].contains(&code(&error)), "{error}");
            assert!(error.to_string().contains("not at the same collective"), "{error}");
        }
    }
}

#[test]
fn a_group_of_workers_tells_of_skipped_collectives_and_failures() {
    let call = |round| Collective { what: "numbers", round };
    let told = with_tcp(3, LONG, |comm| {
        let rounds = if comm.rank() == 1 { vec![0, 2] } else { vec![0, 1] };
        let team = WorkerGroup::new(Box::new(comm));
        rounds.into_iter().try_for_each(|round| team.sum(call(round), Ok(()), &mut [1; 100]))
    });
    for told in told {
        let error = told.unwrap_err();
        assert_eq!(code(&error), "comm.order");
        assert!(error.to_string().contains("rank 1 at numbers in round 2 (call 1)"), "{error}");
    }
    let told = with_tcp(3, LONG, |comm| {
        let own = if comm.rank() == 1 { Err(Error::data("label.nan", "label[3]")) } else { Ok(()) };
        let team = WorkerGroup::new(Box::new(comm));
        let ended = team.sum(call(0), own, &mut [0; 9]).unwrap_err().to_string();
        // They have not lost each other.
        team.agree(call(1), Ok(())).unwrap();
        ended
    });
    assert_eq!(told, ["rank 1 has failed: label[3]", "label[3]", "rank 1 has failed: label[3]"]);
}

#[test]
fn an_interrupt_ends_waiting() {
    let (ports, group) = listening(2, LONG);
    let mut ports = ports.into_iter();
    let (first, second) = (ports.next().unwrap(), ports.next().unwrap());
    // For a worker that does not come.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| first.connect(0, &group).map(|_| ()));
        thread::sleep(SHORT);
        group.interrupt.raise();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Interrupted), "{error}");
    });
    drop(second);
    // For one that is busy.
    let interrupts = [Interrupt::new(), Interrupt::new()];
    let (ends, ended) = channel();
    let (ends, ended) = (Mutex::new(ends), Mutex::new(ended));
    let (ports, group) = listening(2, LONG);
    let told = each(ports, |rank, port| {
        let own = TcpGroup { interrupt: interrupts[rank].clone(), ..group.clone() };
        let comm = port.connect(rank, &own).unwrap();
        if rank == 0 {
            interrupts[1].raise();
            ended.lock().unwrap().recv_timeout(LONG).unwrap();
        }
        let summed = comm.sum_i64(&mut [1]).and_then(|()| comm.sum_i64(&mut [1]));
        if rank == 1 {
            ends.lock().unwrap().send(()).unwrap();
        }
        summed
    });
    assert!(matches!(told[1].as_ref().unwrap_err().kind(), ErrorKind::Interrupted));
    assert_eq!(told[0].as_ref().unwrap_err().to_string(), "rank 1 has failed: interrupted");
}

#[test]
fn strangers_and_other_jobs_are_refused() {
    let (ports, group) = listening(2, LONG);
    let port = ports[0].port().unwrap();
    let call = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    // One says nothing, one is a browser, one cuts the connection.
    let silent = call();
    let mut browser = call();
    browser.write_all(&b"GET / HTTP/1.1\r\nHost: example\r\n\r\n".repeat(4)).unwrap();
    drop(call());
    let told = each(ports, |rank, port| {
        if rank == 1 {
            // Workers of other jobs, in the meantime.
            let other = |group: TcpGroup, rank: usize| {
                let port = TcpListening::on("127.0.0.1", 0).unwrap();
                port.connect(rank, &group).map(|_| ()).unwrap_err().to_string()
            };
            let token = TcpGroup { token: Token([8; 32]), ..group.clone() };
            assert!(other(token, 1).contains("the token is another"));
            let mut addresses = group.addresses.clone();
            addresses.push("127.0.0.1:9".to_owned());
            let size = TcpGroup { addresses, ..group.clone() };
            assert!(other(size, 1).contains("another number of workers"));
        }
        let comm = port.connect(rank, &group)?;
        let mut values = [1 + i64::try_from(rank).unwrap()];
        comm.sum_i64(&mut values)?;
        Ok::<_, Error>(values[0])
    });
    assert_eq!(told.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [3, 3]);
    // What it had sent was not read to its end, so that the answer may be lost.
    let mut answer = Vec::new();
    let _ = browser.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer[8..40] == [0; 32], "{answer:?}");
    drop(silent);
}

#[test]
fn what_answers_must_be_a_worker_of_the_job() {
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    let own = TcpListening::on("127.0.0.1", 0).unwrap();
    let addresses = vec![address, "127.0.0.1:9".to_owned()];
    let group = TcpGroup { addresses, token: TOKEN, deadline: LONG, interrupt: Interrupt::new() };
    let error = thread::scope(|scope| {
        let waiting = scope.spawn(|| own.connect(1, &group).map(|_| ()).unwrap_err());
        let (mut caller, _) = stranger.accept().unwrap();
        caller.write_all(&[b'x'; 100]).unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(code(&error), "comm.refused");
    assert!(error.to_string().contains("is no worker of this job"), "{error}");
}

#[test]
fn workers_that_do_not_come_are_named() {
    let (ports, group) = listening(3, SHORT);
    let first = ports.into_iter().next().unwrap();
    let error = first.connect(0, &group).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::CommTimeout(_)));
    assert_eq!(error.to_string(), "ranks 1, 2 did not connect within 1 s");
    let (ports, mut group) = listening(2, SHORT);
    group.addresses[0] = "127.0.0.1:9".to_owned();
    let error = ports.into_iter().nth(1).unwrap().connect(1, &group).unwrap_err();
    assert!(error.to_string().starts_with("rank 0 at 127.0.0.1:9 cannot be reached"), "{error}");
    let error = TcpListening::on("127.0.0.1", 0).unwrap().connect(5, &group).unwrap_err();
    assert_eq!(code(&error), "rank");
}

#[test]
fn a_port_belongs_to_one_job() {
    let port = TcpListening::on("127.0.0.1", 0).unwrap();
    let error = TcpListening::on("127.0.0.1", port.port().unwrap()).unwrap_err();
    assert_eq!(code(&error), "comm.listen");
    assert!(format!("{TOKEN:?}").len() < 12, "a token is a secret");
}
