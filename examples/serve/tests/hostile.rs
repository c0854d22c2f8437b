//! Requests that are malformed, too large, cut off or slow: none harms the service or its other clients.

#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "a test that says what it did")]

#[expect(dead_code, reason = "shared with the other tests of the service")]
mod common;

use common::{Service, forest, saved};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FEATURES: usize = 5;
/// Requests of one round. Memory is compared between the second round and the last.
const REQUESTS: usize = 300;
const ROUNDS: usize = 3;
/// The growth of resident memory that an allocator's caches explain.
const GROWTH: u64 = 24 << 20;

/// Numbers that look random, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// A request with a body, as an honest client writes it.
fn post(kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST /score HTTP/1.1\r\nhost: a\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A body of JSON that is not what the service takes, or only just.
fn json(random: &mut Random) -> Vec<u8> {
    let number =
        ["1e999", "-1e999", "NaN", "Infinity", "1e-400", "\"1\"", "true", "[]", "0x1", "1."]
            [random.below(10)];
    let row = vec!["1"; random.below(2 * FEATURES)].join(",");
    match random.below(7) {
        0 => "[".repeat(1 + random.below(100_000)).into_bytes(),
        1 => format!("{{\"rows\":{}1{}}}", "[".repeat(400), "]".repeat(400)).into_bytes(),
        2 => format!("{{\"rows\":[[{number},1,1,1,1]]}}").into_bytes(),
        3 => format!("{{\"rows\":[[{row}],[{row}]]}}").into_bytes(),
        4 => format!(
            "{{\"rows\":[],\"rows\":[[{row}]],\"more\":\"{}\"}}",
            "x".repeat(random.below(10_000))
        )
        .into_bytes(),
        5 => [b"{\"rows\": [[1,2,3,4,5]]".to_vec(), random.bytes(30)].concat(),
        _ => "{\"rows\":[[1,1,1,1,1]]} trailing".repeat(1 + random.below(50)).into_bytes(),
    }
}

/// A hostile request.
fn hostile(random: &mut Random) -> Vec<u8> {
    const BINARY: &str = "application/octet-stream";
    let count = random.below(4000);
    match random.below(12) {
        0 => random.bytes(count),
        1 => post("application/json", &json(random)),
        2 => post("application/json", &random.bytes(count)),
        3 => post(BINARY, &random.bytes(count | 1)),
        // Any four bytes are a number: these are rows.
        4 => post(BINARY, &random.bytes(4 * FEATURES * (1 + count))),
        // More than there is room for, and much less than was announced.
        5 => post(BINARY, &vec![0; (16 << 20) + 1 + count]),
        6 => b"POST /score HTTP/1.1\r\nhost: a\r\ncontent-length: 18446744073709551615\r\n\r\n1".to_vec(),
        7 => b"POST /score HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\ncontent-length: 5\r\n\r\n12345".to_vec(),
        8 => format!("POST /score HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\nabc", random.below(1 << 30))
            .into_bytes(),
        9 => format!("GET /{} HTTP/1.1\r\n{}\r\n", "a".repeat(count), "x: y\r\n".repeat(count)).into_bytes(),
        10 => [&b"PUT /reload HTTP/9.9\r\n\0\0: \xff\r\n\r\n"[..], &random.bytes(count)].concat(),
        _ => post("application/json", b"{\"rows\":[[1,2,3,4,5]]}").repeat(1 + random.below(100)),
    }
}

/// Sends a request in pieces, perhaps not all of it, and perhaps does not read the answer.
fn send(service: &Service, random: &mut Random) {
    let request = hostile(random);
    let mut stream = TcpStream::connect(&service.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let end = if random.below(4) == 0 { random.below(request.len() + 1) } else { request.len() };
    let middle = random.below(end + 1);
    // The service may have closed the connection: that is its right.
    let sent =
        stream.write_all(&request[..middle]).and_then(|()| stream.write_all(&request[middle..end]));
    if sent.is_err() || random.below(4) == 0 {
        return;
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    if stream.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        let status = String::from_utf8_lossy(&answer);
        let status = status.split(' ').nth(1).unwrap().parse::<u16>().unwrap();
        assert!(matches!(status, 200 | 400..=431), "status {status}");
    }
}

/// The resident memory of the service.
#[cfg(target_os = "linux")]
fn memory(service: &Service) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[cfg(not(target_os = "linux"))]
fn memory(_: &Service) -> u64 {
    0
}

#[test]
fn hostile_requests_harm_nobody() {
    let model = forest(1, FEATURES, &[31; 100]);
    let (folder, path) = saved("hostile", &model);
    let service = Service::start_with(&path, &["2"]);
    let rows: Vec<f32> = (0..FEATURES * 40).map(|i| (i * 31 % 97) as f32 / 7.0).collect();
    let mut wanted = vec![0.0; 40];
    model.scorer().score(&rows, &mut wanted).unwrap();
    let wanted: Vec<u8> = wanted.iter().flat_map(|score: &f64| score.to_le_bytes()).collect();
    let end = AtomicBool::new(false);
    let (answered, held) = std::thread::scope(|scope| {
        let honest = scope.spawn(|| {
            let mut answered = 0;
            while !end.load(Ordering::Relaxed) {
                // A connection lasts two seconds here.
                let mut client = service.client();
                for _ in 0..20 {
                    assert_eq!(client.binary(&rows), (200, wanted.clone()));
                    answered += 1;
                }
            }
            answered
        });
        let mut held = Vec::new();
        let mut random = Random(1);
        for _ in 0..ROUNDS {
            for _ in 0..REQUESTS {
                send(&service, &mut random);
            }
            held.push(memory(&service));
        }
        end.store(true, Ordering::Relaxed);
        (honest.join().unwrap(), held)
    });
    println!("{} hostile requests, {answered} others answered, memory {held:?}", ROUNDS * REQUESTS);
    assert!(answered >= 20);
    assert!(held[ROUNDS - 1] <= held[1] + GROWTH, "{held:?}");
    assert_eq!(service.client().ask("GET /model", "", b"").0, 200);
    std::fs::remove_dir_all(folder).unwrap();
}
