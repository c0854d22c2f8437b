//! A scoring service: `cargo run --release -- MODEL [ADDRESS [SECONDS]]`, in `examples/serve`.
//!
//! - `POST /score` with `{"rows": [[0.5, null, 3], ...]}` answers `{"scores": [...]}`; `null` is a
//!   missing value. As `application/octet-stream`, rows are little-endian `f32`, one after the
//!   other, and scores little-endian `f64`.
//! - `POST /reload` reads the model file again. Requests that are being answered keep the model they
//!   began with, so none is dropped; a file that cannot be read leaves the old model in place.
//! - `GET /model` says how many features a row has.
//!
//! All requests share one scorer, without locks while they score. What takes less than about a
//! millisecond is read and scored on the thread that received it; more goes to the threads for blocking work, to
//! no more of them at a time than leave a core to small requests.
//!
//! A request has at most 16 MiB (status 413), and 60 seconds, or as many as the third argument says, to be sent and
//! answered and for its answer to be read; then the connection is closed. After Ctrl-C, requests that have begun are
//! answered for 5 seconds. JSON has no infinities: rows with such scores are refused as JSON (400), and answered as
//! bytes. There is no encryption and no limit of the number of connections, which a proxy in front has.
#![expect(clippy::print_stdout, reason = "a service says where it listens")]

mod connections;
mod requests;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use connections::Connections;
use requests::{binary_rows, json_rows, json_scores};
use rustrank::model::{Model, Scorer, Value};
use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

const BINARY: &str = "application/octet-stream";
/// The largest request.
const LIMIT: usize = 16 << 20;
/// Up to so many bytes are read on the thread that received them.
const SHORT: usize = 64 << 10;
/// So many seconds a request and its answer take, unless an argument says otherwise.
const SECONDS: u64 = 60;
/// How long requests that have begun are answered once the service is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// What all requests share.
struct Service {
    path: PathBuf,
    /// Locked as long as it takes to copy or to change a pointer.
    current: RwLock<Arc<Scorer>>,
    /// A permit for each large request at work.
    large: Semaphore,
}

type Failure = (StatusCode, String);

impl Service {
    fn scorer(&self) -> Arc<Scorer> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn refused(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    (StatusCode::BAD_REQUEST, what.into().to_string())
}

fn broken(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, what.into().to_string())
}

async fn score(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let scorer = service.scorer();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let (answer, size): (fn(&Scorer, &[u8]) -> _, _) =
        if kind == Some(BINARY) { (as_bytes, 4) } else { (as_json, 2) };
    let most_rows = body.len() / (size * scorer.num_features().max(1));
    if body.len() <= SHORT && scorer.is_short(most_rows) {
        return answer(&scorer, &body);
    }
    let _permit = service.large.acquire().await.map_err(broken)?;
    tokio::task::spawn_blocking(move || answer(&scorer, &body)).await.map_err(broken)?
}

fn as_bytes(scorer: &Scorer, body: &[u8]) -> Result<Response, Failure> {
    let (values, count) = binary_rows(body, scorer.num_features()).map_err(refused)?;
    let scores = scored(scorer, &values, count)?;
    let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
    Ok(([(header::CONTENT_TYPE, BINARY)], bytes).into_response())
}

fn as_json(scorer: &Scorer, body: &[u8]) -> Result<Response, Failure> {
    let (values, count) = json_rows(body, scorer.num_features()).map_err(refused)?;
    let answer = json_scores(&scored(scorer, &values, count)?).map_err(refused)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

fn scored<T: Value>(scorer: &Scorer, values: &[T], count: usize) -> Result<Vec<f64>, Failure> {
    let mut scores = vec![0.0; count];
    scorer.score(values, &mut scores).map_err(refused)?;
    Ok(scores)
}

async fn reload(State(service): State<Arc<Service>>) -> Result<&'static str, Failure> {
    let path = service.path.clone();
    let read = move || Model::load(path).map(|model| model.scorer());
    let scorer = tokio::task::spawn_blocking(read).await.map_err(broken)?.map_err(broken)?;
    *service.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(scorer);
    Ok("reloaded\n")
}

async fn model(State(service): State<Arc<Service>>) -> String {
    serde_json::json!({ "num_features": service.scorer().num_features() }).to_string()
}

async fn serve(
    path: PathBuf,
    address: String,
    most: Duration,
) -> Result<(), Box<dyn std::error::Error>> {
    let current = RwLock::new(Arc::new(Model::load(&path)?.scorer()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let large = Semaphore::new((cores - 1).max(1));
    let app = Router::new()
        .route("/score", post(score))
        .route("/reload", post(reload))
        .route("/model", get(model))
        .layer(DefaultBodyLimit::max(LIMIT))
        .with_state(Arc::new(Service { path, current, large }));
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let end = Arc::new(Notify::new());
    let told = Arc::clone(&end);
    let served = axum::serve(Connections { listener, most }, app)
        .with_graceful_shutdown(async move { told.notified().await });
    let served = tokio::spawn(served.into_future());
    tokio::signal::ctrl_c().await?;
    end.notify_one();
    // Requests that have begun are answered before it ends, but a client that does not go on is not waited for.
    if let Ok(ended) = tokio::time::timeout(LAST_ANSWERS, served).await {
        ended??;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: serve MODEL [ADDRESS [SECONDS]]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let seconds = arguments.next().map_or(Ok(SECONDS), |seconds| seconds.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(path.into(), address, Duration::from_secs(seconds)));
    // What is still being scored has nobody to answer to.
    runtime.shutdown_background();
    served
}
