//! The scoring service of this package under load, while its model changes.
//!
//! `cargo test --release --test serve -- --nocapture` prints how many queries a second it answered.

#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "a load test says what it found")]

use rustrank::model::{Child, Leaf, Model, Split, Tree};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FEATURES: usize = 20;
const DOCS: usize = 100;
const CLIENTS: usize = 4;

/// A model of trees that have so many leaves each: random splits, balanced.
fn forest(seed: u64, num_features: usize, leaves: &[u32]) -> Model {
    let mut state = seed;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut model = Model::new(num_features);
    for &leaves in leaves {
        // Node i has the children 2i + 1 and 2i + 2: splits come first.
        let child = |at: u32| {
            if at < leaves - 1 { Child::Split(at) } else { Child::Leaf(at + 1 - leaves) }
        };
        let splits = (0..leaves - 1).map(|at| Split {
            feature: random(num_features as u64) as u32,
            threshold: random(97) as f64 / 7.0,
            missing_left: random(2) == 0,
            left: child(2 * at + 1),
            right: child(2 * at + 2),
            reduction: 0.0,
            cover: 1.0,
            docs: 1,
        });
        let splits: Vec<Split> = splits.collect();
        let leaf = |_| Leaf { value: random(1 << 20) as f64 / 1e6 - 0.5, cover: 1.0, docs: 1 };
        let leaves = (0..leaves).map(leaf).collect();
        model.push(Tree::new(splits, leaves)).unwrap();
    }
    model
}

struct Service {
    process: process::Child,
    address: String,
}

impl Service {
    fn start(model: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_serve"))
            .arg(model)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, address }
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream: BufReader::new(stream) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One connection, kept open.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// The status and the body of the answer.
    fn ask(&mut self, call: &str, kind: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let length = body.len();
        let head = format!(
            "{call} HTTP/1.1\r\nhost: test\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            match line.trim().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, body)
    }

    fn binary(&mut self, rows: &[f32]) -> (u16, Vec<u8>) {
        let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.ask("POST /score", "application/octet-stream", &bytes)
    }
}

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
