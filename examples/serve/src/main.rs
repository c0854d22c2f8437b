//! A scoring service: `cargo run --release -- MODEL [ADDRESS]`, in `examples/serve`.
//!
//! - `POST /score` with `{"rows": [[0.5, null, 3], ...]}` answers `{"scores": [...]}`; `null` is a
//!   missing value. As `application/octet-stream`, rows are little-endian `f32`, one after the
//!   other, and scores little-endian `f64`.
//! - `POST /reload` reads the model file again. Requests that are being answered keep the model they
//!   began with, so none is dropped; a file that cannot be read leaves the old model in place.
//! - `GET /model` says how many features a row has.
//!
//! All requests share one scorer, without locks while they score. What takes less than about a
//! millisecond is scored on the thread that read it; more goes to the threads for blocking work.
#![expect(clippy::print_stdout, reason = "a service says where it listens")]

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use rustrank::model::{Model, Scorer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

const BINARY: &str = "application/octet-stream";
/// The largest request.
const LIMIT: usize = 64 << 20;

/// What all requests share.
struct Service {
    path: PathBuf,
    /// Locked as long as it takes to copy or to change a pointer.
    current: RwLock<Arc<Scorer>>,
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
    if kind == Some(BINARY) {
        let (values, rest) = body.as_chunks::<4>();
        let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let width = scorer.num_features().max(1);
        if !rest.is_empty() || !values.len().is_multiple_of(width) {
            return Err(refused(format!("rows have {width} values of 4 bytes")));
        }
        let count = values.len() / width;
        let scores = scored(scorer, values, count).await?;
        let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        return Ok(([(header::CONTENT_TYPE, BINARY)], bytes).into_response());
    }
    let mut body: BTreeMap<String, Vec<Vec<Option<f64>>>> =
        serde_json::from_slice(&body).map_err(refused)?;
    let rows = body.remove("rows").ok_or_else(|| refused("`rows` is missing"))?;
    if let Some(row) = rows.iter().position(|row| row.len() != scorer.num_features()) {
        let (got, wanted) = (rows[row].len(), scorer.num_features());
        return Err(refused(format!("row {row} has {got} values: expected {wanted}")));
    }
    let count = rows.len();
    let values = rows.into_iter().flatten().map(|value| value.unwrap_or(f64::NAN)).collect();
    let scores = scored(scorer, values, count).await?;
    let answer = serde_json::json!({ "scores": scores }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

async fn scored<T: rustrank::model::Value>(
    scorer: Arc<Scorer>,
    values: Vec<T>,
    count: usize,
) -> Result<Vec<f64>, Failure> {
    let work = move |scorer: &Scorer| {
        let mut scores = vec![0.0; count];
        scorer.score(&values, &mut scores).map(|()| scores).map_err(refused)
    };
    if scorer.is_short(count) {
        return work(&scorer);
    }
    tokio::task::spawn_blocking(move || work(&scorer)).await.map_err(broken)?
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

async fn serve(path: PathBuf, address: String) -> Result<(), Box<dyn std::error::Error>> {
    let current = RwLock::new(Arc::new(Model::load(&path)?.scorer()));
    let app = Router::new()
        .route("/score", post(score))
        .route("/reload", post(reload))
        .route("/model", get(model))
        .layer(DefaultBodyLimit::max(LIMIT))
        .with_state(Arc::new(Service { path, current }));
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    // Requests that have begun are answered before it ends.
    let end = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    Ok(axum::serve(listener, app).with_graceful_shutdown(end).await?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: serve MODEL [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(path.into(), address))
}
