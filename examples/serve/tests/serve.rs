//! The scoring service of this package under load, while its model changes.
//!
//! `cargo test --release --test serve -- --nocapture` prints how many queries a second it answered.

#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "a load test says what it found")]

mod common;

use common::{Client, Service, forest, saved};
use rustrank::model::{Component, Linear, Model, Part, Tree};
use std::io::{BufRead, Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FEATURES: usize = 20;
const DOCS: usize = 100;
const CLIENTS: usize = 4;

fn rows(seed: usize) -> Vec<f32> {
    let value = |i: usize| if i.is_multiple_of(13) { f32::NAN } else { (i * 31 % 97) as f32 / 7.0 };
    (0..DOCS * FEATURES).map(|i| value(i + seed)).collect()
}

fn answer(model: &Model, rows: &[f32]) -> Vec<u8> {
    let mut scores = vec![0.0; rows.len() / FEATURES];
    model.scorer().score(rows, &mut scores).unwrap();
    scores.iter().flat_map(|score: &f64| score.to_le_bytes()).collect()
}

/// Asks until told to end; all answers must be those of one of the models. How long each took.
fn load(mut client: Client, seed: usize, models: &[Model], end: &AtomicBool) -> Vec<Duration> {
    let rows = rows(seed);
    let wanted: Vec<_> = models.iter().map(|model| answer(model, &rows)).collect();
    let mut times = Vec::new();
    while !end.load(Ordering::Relaxed) {
        let start = Instant::now();
        let (status, body) = client.binary(&rows);
        times.push(start.elapsed());
        assert_eq!(status, 200);
        assert!(wanted.contains(&body));
    }
    times
}

#[test]
fn reloading_drops_no_request() {
    let folder = std::env::temp_dir().join(format!("rustrank-serve-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.rrk");
    let models = [1, 2].map(|seed| forest(seed, FEATURES, &[31; 500]));
    models[0].save(&path).unwrap();
    let service = Service::start(&path);
    let end = AtomicBool::new(false);
    let start = Instant::now();
    let times = std::thread::scope(|scope| {
        let load = |seed| {
            let (client, models, end) = (service.client(), &models, &end);
            scope.spawn(move || load(client, seed, models, end))
        };
        let clients: Vec<_> = (0..CLIENTS).map(load).collect();
        let mut admin = service.client();
        for round in 0..20 {
            std::thread::sleep(Duration::from_millis(50));
            models[(round + 1) % 2].save(&path).unwrap();
            assert_eq!(admin.ask("POST /reload", "", b"").0, 200);
        }
        // What cannot be read leaves the model as it is.
        std::fs::write(&path, "no model").unwrap();
        assert_eq!(admin.ask("POST /reload", "", b"").0, 500);
        end.store(true, Ordering::Relaxed);
        let times = clients.into_iter().flat_map(|client| client.join().unwrap());
        let mut times: Vec<_> = times.collect();
        times.sort();
        times
    });
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!(
        "{CLIENTS} clients, {DOCS} docs a query, 500 trees of 31 leaves, a reload each 50 ms:"
    );
    println!("{rate:.0} queries/s, {:?} at the median, {:?} at 99 %", at(50), at(99));
    let (status, body) = service.client().binary(&rows(0));
    assert_eq!((status, body), (200, answer(&models[0], &rows(0))));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn requests_that_make_no_sense_are_told_so() {
    let folder = std::env::temp_dir().join(format!("rustrank-refuse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.rrk");
    let model = forest(1, 3, &[9; 20]);
    model.save(&path).unwrap();
    let service = Service::start(&path);
    let mut client = service.client();
    let mut ask = |body: &str| {
        let (status, body) = client.ask("POST /score", "application/json", body.as_bytes());
        (status, String::from_utf8(body).unwrap())
    };
    let (status, body) = ask(r#"{"rows": [[1, null, 2.5], [0, 0, 0]]}"#);
    let score = |row: [f64; 3]| {
        let leaf = |tree: &Tree| tree.leaves()[tree.leaf_of(|feature| row[feature as usize])].value;
        model.trees().map(leaf).fold(0.0, |sum, value| sum + value)
    };
    let wanted = [score([1.0, f64::NAN, 2.5]), score([0.0; 3])];
    assert_eq!((status, body), (200, format!(r#"{{"scores":[{:?},{:?}]}}"#, wanted[0], wanted[1])));
    assert_eq!(ask(r#"{"rows": []}"#), (200, r#"{"scores":[]}"#.to_owned()));
    let short = ask(r#"{"rows": [[1, 2, 3], [1, 2]]}"#);
    assert_eq!(short, (400, "row 1 has 2 values: expected 3".to_owned()));
    for body in ["", "{}", "[]", r#"{"rows": 1}"#, r#"{"rows": [["a", 1, 2]]}"#] {
        assert_eq!(ask(body).0, 400, "{body}");
    }
    assert_eq!(client.binary(&[1.0; 4]).0, 400);
    assert_eq!(client.ask("GET /model", "", b""), (200, br#"{"num_features":3}"#.to_vec()));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// How long the service takes to close a connection on which a client sends these bytes.
fn closed_after(service: &Service, pieces: &[&[u8]], between: Duration) -> Duration {
    let mut stream = service.client().stream.into_inner();
    let start = Instant::now();
    for piece in pieces {
        if stream.write_all(piece).is_err() {
            return start.elapsed();
        }
        std::thread::sleep(between);
    }
    // The end of the stream, or an error: the connection is closed.
    let _ = stream.read_to_end(&mut Vec::new());
    start.elapsed()
}

#[test]
fn a_client_that_takes_too_long_loses_its_connection() {
    let (folder, path) = saved("slow", &forest(1, 3, &[9; 20]));
    let service = Service::start_with(&path, &["1"]);
    let head = b"POST /score HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n";
    let byte: &[u8] = b"x";
    let body = [&head[..], b"\r\n"].concat();
    let cases: [Vec<&[u8]>; 4] = [
        vec![],
        vec![head],
        // Byte by byte is no faster.
        [vec![&body[..]], vec![byte; 50]].concat(),
        vec![b"GET /model HTTP/1.1\r\nhost: test\r\n\r\n"],
    ];
    for pieces in cases {
        let took = closed_after(&service, &pieces, Duration::from_millis(100));
        let wanted = Duration::from_millis(900)..Duration::from_secs(4);
        assert!(wanted.contains(&took), "{} pieces: {took:?}", pieces.len());
    }
    // A connection on which requests follow each other lives on.
    let mut client = service.client();
    for _ in 0..8 {
        assert_eq!(client.ask("GET /model", "", b"").0, 200);
        std::thread::sleep(Duration::from_millis(300));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(unix)]
fn an_unfinished_request_does_not_keep_the_service() {
    let (folder, path) = saved("unfinished", &forest(1, 3, &[9; 20]));
    let mut service = Service::start(&path);
    let mut unfinished = service.client();
    let head = b"POST /score HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\n{";
    unfinished.stream.get_mut().write_all(head).unwrap();
    let mut open = service.client();
    assert_eq!(open.ask("GET /model", "", b"").0, 200);
    let start = Instant::now();
    let id = service.process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    while service.process.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(15), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(service.process.wait().unwrap().success());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_request_has_a_limit() {
    let (folder, path) = saved("limit", &forest(1, 3, &[9; 20]));
    let service = Service::start(&path);
    let mut client = service.client();
    let length = (16 << 20) + 1;
    let head = format!("POST /score HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\n\r\n");
    // It is told so once it has sent as much.
    let request = [head.as_bytes(), &vec![b' '; length]].concat();
    client.stream.get_mut().write_all(&request).unwrap();
    let mut line = String::new();
    client.stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 413 "), "{line}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn infinite_scores_are_no_json() {
    let mut model = Model::new(1);
    let part = Part::Linear(Linear::new(vec![(0, 1e308)]));
    model.add(Component::new(part)).unwrap();
    let (folder, path) = saved("infinite", &model);
    let service = Service::start(&path);
    let mut client = service.client();
    let (status, body) =
        client.ask("POST /score", "application/json", br#"{"rows": [[1], [-100]]}"#);
    let wanted =
        "the score of row 1 is -inf, which JSON cannot hold: ask as application/octet-stream";
    assert_eq!((status, String::from_utf8(body).unwrap().as_str()), (400, wanted));
    let (status, body) = client.binary(&[1.0, -100.0]);
    let wanted = [1e308f64, f64::NEG_INFINITY].iter().flat_map(|score| score.to_le_bytes());
    assert_eq!((status, body), (200, wanted.collect()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn large_requests_leave_small_ones_their_time() {
    let (folder, path) = saved("large", &forest(1, FEATURES, &[31; 50]));
    let service = Service::start(&path);
    let row = format!("[{}]", vec!["0.25"; FEATURES].join(","));
    let large = format!(r#"{{"rows":[{}]}}"#, vec![row.as_str(); 150_000].join(","));
    let small = format!(r#"{{"rows":[{row}]}}"#);
    let end = AtomicBool::new(false);
    let mut times = std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let (mut client, large, end) = (service.client(), large.as_bytes(), &end);
            scope.spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    assert_eq!(client.ask("POST /score", "application/json", large).0, 200);
                }
            });
        }
        let mut client = service.client();
        std::thread::sleep(Duration::from_millis(500));
        let time = |_| {
            let start = Instant::now();
            let (status, _) = client.ask("POST /score", "application/json", small.as_bytes());
            assert_eq!(status, 200);
            std::thread::sleep(Duration::from_millis(20));
            start.elapsed() - Duration::from_millis(20)
        };
        let times: Vec<_> = (0..60).map(time).collect();
        end.store(true, Ordering::Relaxed);
        times
    });
    times.sort();
    println!("beside requests of {} MiB: {:?} at the median", large.len() >> 20, times[30]);
    assert!(times[30] < Duration::from_millis(100), "{:?}", times[30]);
    std::fs::remove_dir_all(&folder).unwrap();
}
