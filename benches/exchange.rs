//! What a collective over TCP takes, between workers that are threads of this process: a sum of as many words as
//! a histogram of 136 features has, one of few words, and the copy of the same bytes as a yardstick.

#![expect(clippy::unwrap_used, reason = "a bench")]

use criterion::{Criterion, criterion_group, criterion_main};
use rustrank::Interrupt;
use rustrank::distributed::{Communicator, TcpCommunicator, TcpGroup, TcpListening, Token};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// The words of the histogram of a node: 136 columns of up to 256 bins, one word for each, and the frame.
const HISTOGRAM: usize = 136 * 256 + 4;

/// The time of so many sums, by the first of some workers.
fn sums(size: usize, words: usize, times: u64) -> Duration {
    let ports: Vec<_> = (0..size).map(|_| TcpListening::on("127.0.0.1", 0).unwrap()).collect();
    let address = |port: &TcpListening| format!("127.0.0.1:{}", port.port().unwrap());
    let group = TcpGroup {
        addresses: ports.iter().map(address).collect(),
        token: Token([1; 32]),
        deadline: Duration::from_secs(60),
        interrupt: Interrupt::new(),
    };
    let barrier = Barrier::new(size);
    let work = |rank: usize, port: TcpListening| {
        let comm: TcpCommunicator = port.connect(rank, &group).unwrap();
        let mut values = vec![i64::try_from(rank).unwrap(); words];
        comm.sum_i64(&mut values).unwrap();
        barrier.wait();
        let begun = Instant::now();
        for _ in 0..times {
            comm.sum_i64(black_box(&mut values)).unwrap();
        }
        begun.elapsed()
    };
    let work = &work;
    thread::scope(|scope| {
        let ranks = ports.into_iter().enumerate();
        let threads: Vec<_> =
            ranks.map(|(rank, port)| scope.spawn(move || work(rank, port))).collect();
        let times = threads.into_iter().map(|thread| thread.join().unwrap());
        times.max().unwrap_or_default()
    })
}

fn exchange(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exchange");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for size in [2, 4] {
        for words in [8, HISTOGRAM] {
            group.bench_function(format!("sum of {words} words, {size} workers"), |bencher| {
                bencher.iter_custom(|times| sums(size, words, times));
            });
        }
    }
    let (from, mut to) = (vec![1i64; HISTOGRAM], vec![0i64; HISTOGRAM]);
    group.bench_function(format!("copy of {HISTOGRAM} words"), |bencher| {
        bencher.iter(|| black_box(&mut to).copy_from_slice(black_box(&from)));
    });
}

criterion_group!(benches, exchange);
criterion_main!(benches);
