//! What tests of the service share: a model, the service in a process of its own, and a client.

use rustrank::model::{Child, Leaf, Model, Split, Tree};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::Duration;

/// A model of trees that have so many leaves each: random splits, balanced.
pub fn forest(seed: u64, num_features: usize, leaves: &[u32]) -> Model {
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

pub struct Service {
    pub process: process::Child,
    pub address: String,
}

impl Service {
    pub fn start(model: &Path) -> Self {
        Self::start_with(model, &[])
    }

    pub fn start_with(model: &Path, more: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_serve"))
            .arg(model)
            .arg("127.0.0.1:0")
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, address }
    }

    pub fn client(&self) -> Client {
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
pub struct Client {
    pub stream: BufReader<TcpStream>,
}

impl Client {
    /// The status and the body of the answer.
    pub fn ask(&mut self, call: &str, kind: &str, body: &[u8]) -> (u16, Vec<u8>) {
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

    pub fn binary(&mut self, rows: &[f32]) -> (u16, Vec<u8>) {
        let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.ask("POST /score", "application/octet-stream", &bytes)
    }
}

/// A folder of a test, and the model that is saved in it.
pub fn saved(name: &str, model: &Model) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("rustrank-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.rrk");
    model.save(&path).unwrap();
    (folder, path)
}
