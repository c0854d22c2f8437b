//! The sweep over mixtures of two rankers, in CPU time of one thread, beside the plain way: find all
//! crossings of a query, sort them, exchange docs one by one.
//!
//! `cargo bench --bench combine` prints, for each size and likeness of rankers, microseconds and
//! events a query and the ratio to the plain way; then metrics without a cut; then the whole of
//! 10,000 queries of 120 docs with the evaluation of the answer. `-- whole`, `ratios` or `growth` runs
//! one of these.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

mod common {
    pub(crate) mod combine;
}

use common::combine::{Synthetic, sweep_of, synthetic};
use cpu_time::ThreadTime;
use rustrank::combine::Range;
use std::hint::black_box;
use std::time::Duration;

/// The plain way for NDCG@k, query by query: no more than its crossings are counted against it.
struct Plain {
    order: Vec<u32>,
    rank: Vec<u32>,
    crossings: Vec<(f64, u32, u32)>,
    changes: Vec<(f64, f64)>,
}

impl Plain {
    fn query(&mut self, first: &[f64], second: &[f64], labels: &[f32], k: usize) {
        let n = first.len();
        self.order.clear();
        self.order.extend(0..n as u32);
        self.order.sort_unstable_by(|&x, &y| first[y as usize].total_cmp(&first[x as usize]));
        self.rank.resize(n, 0);
        for (rank, &doc) in self.order.iter().enumerate() {
            self.rank[doc as usize] = rank as u32;
        }
        self.crossings.clear();
        for i in 0..n {
            let (a, b) = (first[i], second[i]);
            for j in i + 1..n {
                let (over, under) = (a - first[j], second[j] - b);
                if (over > 0.0) == (under > 0.0) {
                    self.crossings.push((over / (over + under), i as u32, j as u32));
                }
            }
        }
        self.crossings.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let discount: Vec<f64> =
            (0..n).map(|p| if p < k { ((p + 2) as f64).log2().recip() } else { 0.0 }).collect();
        let gain = |doc: u32| f64::from(labels[doc as usize]).exp2() - 1.0;
        self.changes.clear();
        for &(alpha, i, j) in &self.crossings {
            let (p, q) = (self.rank[i as usize] as usize, self.rank[j as usize] as usize);
            self.rank.swap(i as usize, j as usize);
            let delta = (gain(i) - gain(j)) * (discount[q] - discount[p]);
            if delta != 0.0 {
                self.changes.push((alpha, delta));
            }
        }
    }

    fn all(&mut self, data: &Synthetic, k: usize) {
        for docs in data.queries.ranges() {
            let (first, second) = (&data.first[docs.clone()], &data.second[docs.clone()]);
            self.query(first, second, &data.labels[docs], k);
            black_box(&self.changes);
        }
    }
}

/// The least CPU time of several runs; all work stays on this thread.
fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let timed = |work: &mut dyn FnMut()| {
        let start = ThreadTime::now();
        work();
        start.elapsed()
    };
    (0..runs).map(|_| timed(&mut work)).min().unwrap()
}

fn micros(time: Duration, queries: usize) -> f64 {
    time.as_secs_f64() * 1e6 / queries as f64
}

fn ratios() {
    println!("docs     k   rho   us/query   events/query   plain us/query   ratio");
    for (num_docs, k, rho) in [
        (24, 10, 0.8),
        (120, 10, 0.8),
        (120, 10, 0.95),
        (120, 30, 0.8),
        (1000, 10, 0.8),
        (1000, 10, 0.95),
    ] {
        let num_queries = 120_000 / num_docs;
        let data = synthetic(num_queries, num_docs, rho);
        let mut events = 0;
        let ours = least(5, || events = sweep_of(&data, &format!("ndcg@{k}"), Range::Between));
        let mut plain = Plain { order: vec![], rank: vec![], crossings: vec![], changes: vec![] };
        let plain = least(2, || plain.all(&data, k));
        let per_query = events as f64 / num_queries as f64;
        let (ours, plain) = (micros(ours, num_queries), micros(plain, num_queries));
        let ratio = plain / ours;
        println!(
            "{num_docs:4} {k:5} {rho:5} {ours:10.2} {per_query:14.1} {plain:16.1} {ratio:7.1}"
        );
    }
}

fn growth() {
    println!("\nmetric       docs   us/query   events/query");
    for name in ["ndcg@10", "err@10", "map@10", "ndcg", "map", "pairwise"] {
        for num_docs in [30, 120, 480] {
            let num_queries = 12_000 / num_docs;
            let data = synthetic(num_queries, num_docs, 0.8);
            let mut events = 0;
            let time = least(2, || events = sweep_of(&data, name, Range::Between));
            let per_query = events as f64 / num_queries as f64;
            let time = micros(time, num_queries);
            println!("{name:10} {num_docs:6} {time:10.1} {per_query:14.1}");
        }
    }
}

fn whole() {
    let data = synthetic(10_000, 120, 0.8);
    let both = Range::Along { from: -1.0, to: 10.0 };
    for (title, range) in [("between", Range::Between), ("along -1 to 10", both)] {
        let time = least(5, || {
            black_box(sweep_of(&data, "ndcg@10", range));
        });
        println!("10,000 x 120, ndcg@10, {title}: {:.1} ms", time.as_secs_f64() * 1e3);
    }
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let parts: [(&str, fn()); 3] = [("whole", whole), ("ratios", ratios), ("growth", growth)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    pool.install(|| {
        for (name, part) in parts {
            if named.is_empty() || named.iter().any(|given| given == name) {
                part();
            }
        }
    });
}
