//! Teams: collectives, and what becomes of faults.

mod thread_workers;

use rustrank::distributed::{Collective, Communicator, FRAME, WorkerGroup};
use rustrank::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};
use thread_workers::{InjectedFault, ThreadWorkers};

const DEADLINE: Duration = Duration::from_millis(150);

fn threads(size: usize) -> ThreadWorkers {
    ThreadWorkers::new(size, Duration::from_secs(20))
}

fn call(what: &'static str) -> Collective {
    Collective { what, round: 3 }
}

#[test]
fn collectives_do_what_they_say() {
    for size in [1, 2, 3, 7] {
        let told = threads(size).run(|comm| -> Result<()> {
            let (rank, size) = (comm.rank() as u64, comm.size() as u64);
            let team = WorkerGroup::new(Box::new(comm));
            for round in 0..5 {
                let mut values = [rank, u64::MAX, rank << 40];
                team.sum(Collective { what: "numbers", round }, Ok(()), &mut values)?;
                let ranks = size * (size - 1) / 2;
                assert_eq!(values, [ranks, 0u64.wrapping_sub(size), ranks << 40]);
                let mut values = [rank as f64, -(rank as f64)];
                team.max(Collective { what: "floats", round }, Ok(()), &mut values)?;
                assert_eq!(values, [(size - 1) as f64, 0.0]);
                let own = vec![rank as u8; rank as usize];
                let all = team.gather(Collective { what: "bytes", round }, Ok(own))?;
                let expected: Vec<_> = (0..size).map(|i| vec![i as u8; i as usize]).collect();
                assert_eq!(all, expected);
                team.same(call("size"), size)?;
            }
            Ok(())
        });
        told.into_iter().for_each(Result::unwrap);
    }
}

#[test]
fn the_error_of_one_rank_is_everybodys() {
    for way in 0..4 {
        let told = threads(3).run(|comm| {
            let rank = comm.rank();
            let team = WorkerGroup::new(Box::new(comm));
            let own = if rank == 1 { Err(Error::data("label.nan", "label[3]")) } else { Ok(()) };
            let ended = match way {
                0 => team.sum(call("a"), own, &mut [0; 9]),
                1 => team.max(call("b"), own, &mut [1.0]),
                2 => team.gather(call("c"), own.map(|()| vec![1, 2])).map(|_| ()),
                _ => team.agree(call("d"), own),
            };
            // They have not lost each other.
            team.agree(call("after"), Ok(())).unwrap();
            ended.unwrap_err()
        });
        assert_eq!(told[1].fault().unwrap().code, "label.nan");
        for rank in [0, 2] {
            assert_eq!(told[rank].to_string(), "rank 1 has failed: label[3]");
            assert!(matches!(told[rank].kind(), ErrorKind::Comm(_)));
        }
    }
}

/// What each of three ranks says of a fault on rank 1, and how long that took.
fn with_fault(
    fault: InjectedFault,
    at: u64,
    work: impl Fn(&WorkerGroup) -> Result<()> + Sync,
) -> Vec<Result<()>> {
    let begun = Instant::now();
    let told = ThreadWorkers::new(3, DEADLINE).run(|comm| {
        if comm.rank() == 1 {
            work(&WorkerGroup::new(Box::new(comm.with_fault(fault, at))))
        } else {
            work(&WorkerGroup::new(Box::new(comm)))
        }
    });
    assert!(begun.elapsed() < 4 * DEADLINE);
    told
}

fn sums_and_gathers(team: &WorkerGroup) -> Result<()> {
    for round in 0..4 {
        team.sum(Collective { what: "numbers", round }, Ok(()), &mut [1; 100])?;
        team.gather(Collective { what: "bytes", round }, Ok(vec![7; 10]))?;
        team.max(Collective { what: "floats", round }, Ok(()), &mut [1.0])?;
    }
    Ok(())
}

#[test]
fn a_fault_on_one_rank_ends_in_an_error_on_all() {
    for fault in [
        InjectedFault::Fail,
        InjectedFault::Drop,
        InjectedFault::Delay(3 * DEADLINE),
        InjectedFault::Corrupt,
    ] {
        for at in 0..6 {
            // That another largest number is damaged, no frame can tell.
            if (fault, at % 3) == (InjectedFault::Corrupt, 2) {
                continue;
            }
            let told = with_fault(fault, at, sums_and_gathers);
            for (rank, told) in told.into_iter().enumerate() {
                let error = told.expect_err(&format!("{fault:?} {at} {rank}"));
                let is_comm =
                    matches!(error.kind(), ErrorKind::Comm(_) | ErrorKind::CommTimeout(_));
                assert!(is_comm, "{fault:?} {at} {rank}: {error}");
            }
        }
    }
}

#[test]
fn a_skipped_collective_of_the_same_size_is_told() {
    let told = threads(3).run(|comm| -> Result<()> {
        let rounds = if comm.rank() == 1 { vec![0, 2, 3] } else { vec![0, 1, 2, 3] };
        let team = WorkerGroup::new(Box::new(comm));
        for round in rounds {
            team.sum(Collective { what: "numbers", round }, Ok(()), &mut [1; 100])?;
        }
        Ok(())
    });
    for error in told {
        let error = error.unwrap_err();
        assert_eq!(error.fault().unwrap().code, "comm.order");
        let said = error.to_string();
        assert!(said.contains("rank 0 at numbers in round 1 (call 1)"), "{said}");
        assert!(said.contains("rank 1 at numbers in round 2 (call 1)"), "{said}");
    }
}

#[test]
fn a_silent_rank_is_named_after_the_deadline() {
    let told = with_fault(InjectedFault::Delay(2 * DEADLINE), 0, sums_and_gathers);
    assert!(matches!(told[0].as_ref().unwrap_err().kind(), ErrorKind::CommTimeout(_)));
    assert!(told[0].as_ref().unwrap_err().to_string().contains("for ranks [1]"));
}

#[test]
fn one_process_exchanges_nothing() {
    let team = WorkerGroup::default();
    let mut values = [3, 4];
    team.sum(call("a"), Ok(()), &mut values).unwrap();
    assert_eq!(values, [3, 4]);
    assert_eq!(team.gather(call("b"), Ok(vec![1])).unwrap(), [[1]]);
    assert!(team.agree(call("c"), Err::<(), _>(Error::data("x", "y"))).is_err());
    assert_eq!((team.counts().calls, team.counts().bytes), (0, 0));
}

#[test]
fn messages_are_counted_with_their_frames() {
    let told = threads(2).run(|comm| {
        let team = WorkerGroup::new(Box::new(comm));
        team.sum(call("a"), Ok(()), &mut [3, 4]).unwrap();
        team.max(call("b"), Ok(()), &mut [1.0]).unwrap();
        team.gather(call("c"), Ok(vec![1; 5])).unwrap();
        (team.counts().calls, team.counts().bytes)
    });
    let frame = 8 * FRAME as u64;
    assert_eq!(told, [(3, 16 + frame + 32 + frame + 5); 2]);
}

#[test]
fn an_error_is_kept_for_the_next_collective() {
    let told = threads(2).run(|comm| {
        let rank = comm.rank();
        let team = WorkerGroup::new(Box::new(comm));
        if rank == 1 {
            team.fail_later(Err(Error::data("label.nan", "label[3]")));
            team.fail_later(Err(Error::data("label.nan", "label[4]")));
        }
        let ended = team.sum(call("a"), Ok(()), &mut [1]).unwrap_err().to_string();
        team.agree(call("after"), Ok(())).unwrap();
        ended
    });
    assert_eq!(told, ["rank 1 has failed: label[3]", "label[3]"]);
}
