//! The C interface: load, score and free a model. `include/rustrank.h` documents it.
//!
//! Only with the feature `capi`. A function checks its pointers, calls the scorer, and returns an error as a
//! status, with a message that the thread can ask for. A panic is caught and becomes a status, too.
#![expect(unsafe_code, reason = "C hands over pointers")]

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, Scorer, Value};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A model made ready to score.
///
/// An opaque pointer in C.
#[derive(Debug)]
#[expect(non_camel_case_types, reason = "the name in C")]
pub struct rustrank_model {
    scorer: Scorer,
}

/// `enum rustrank_status`.
const OK: c_int = 0;
const ARGUMENT: c_int = 1;
const IO: c_int = 2;
const MODEL: c_int = 3;
const INTERNAL: c_int = 4;

/// Rows are scored so many at a time, so that a call stays on its thread, whatever the model.
const ROWS: usize = 64;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the work of a function: its status, with the message of an error kept for the thread.
fn guarded(work: impl FnOnce() -> Result<()>) -> c_int {
    let (status, said) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return OK,
        Ok(Err(error)) => (status(&error), error.to_string()),
        Err(_) => (INTERNAL, "a bug in rustrank: it panicked".to_owned()),
    };
    let said = CString::new(said.replace('\0', "\\0")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = said);
    status
}

fn status(error: &Error) -> c_int {
    match error.kind() {
        ErrorKind::Io { .. } => IO,
        ErrorKind::ModelFormat(_) | ErrorKind::ModelVersion(_) => MODEL,
        ErrorKind::Data(_)
        | ErrorKind::Param(_)
        | ErrorKind::ParamKind(_)
        | ErrorKind::UnknownName(_) => ARGUMENT,
        _ => INTERNAL,
    }
}

fn null(name: &str) -> Error {
    Error::param("capi.null", format!("{name} is NULL"))
}

/// Puts what `read` makes of a file into `*model`.
///
/// # Safety
///
/// `model` is NULL or points to a pointer that may be written.
unsafe fn make(model: *mut *mut rustrank_model, read: impl FnOnce() -> Result<Model>) -> c_int {
    guarded(|| {
        if model.is_null() {
            return Err(null("model"));
        }
        // SAFETY: not NULL, so the caller lets it be written.
        unsafe { model.write(std::ptr::null_mut()) };
        let scorer = read()?.scorer();
        let made = Box::into_raw(Box::new(rustrank_model { scorer }));
        // SAFETY: as above.
        unsafe { model.write(made) };
        Ok(())
    })
}

/// Reads a model file of rustrank or of any other library that `Model::load_any` reads.
///
/// # Safety
///
/// `path` is NULL or ends with a zero; `model` is NULL or points to a pointer that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_load(
    path: *const c_char,
    model: *mut *mut rustrank_model,
) -> c_int {
    let read = || {
        if path.is_null() {
            return Err(null("path"));
        }
        // SAFETY: not NULL, so it ends with a zero.
        let path = unsafe { CStr::from_ptr(path) }.to_str();
        Model::load_any(path.map_err(|_| Error::param("capi.path", "the path is not UTF-8"))?)
    };
    // SAFETY: what the caller promises is what is asked for.
    unsafe { make(model, read) }
}

/// Reads a model from the bytes of a file.
///
/// # Safety
///
/// `bytes` is NULL or points to `length` bytes; `model` is NULL or points to a pointer that may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_parse(
    bytes: *const c_void,
    length: usize,
    model: *mut *mut rustrank_model,
) -> c_int {
    // SAFETY: as the caller promises.
    let read = || Model::from_any(unsafe { slice(bytes.cast::<u8>(), length, "bytes") }?);
    // SAFETY: what the caller promises is what is asked for.
    unsafe { make(model, read) }
}

/// Frees a model.
///
/// # Safety
///
/// `model` is NULL, or came from `rustrank_load` or `rustrank_parse`, was not freed and is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_free(model: *mut rustrank_model) {
    if !model.is_null() {
        // SAFETY: it came from a box that nothing else owns.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// The number of values in a row.
///
/// # Safety
///
/// `model` is NULL or a model that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_num_features(model: *const rustrank_model) -> usize {
    // SAFETY: as the caller promises.
    unsafe { model.as_ref() }.map_or(0, |model| model.scorer.num_features())
}

/// Scores rows of singles.
///
/// # Safety
///
/// `model` is NULL or a model that was not freed; `rows` is NULL or points to `num_rows` rows of its
/// length; `scores` is NULL or points to room for `num_rows` scores, not among the rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_score_f32(
    model: *const rustrank_model,
    rows: *const f32,
    num_rows: usize,
    scores: *mut f64,
) -> c_int {
    // SAFETY: what the caller promises is what is asked for.
    unsafe { score(model, rows, num_rows, scores) }
}

/// Scores rows of doubles.
///
/// # Safety
///
/// As for [`rustrank_score_f32`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rustrank_score_f64(
    model: *const rustrank_model,
    rows: *const f64,
    num_rows: usize,
    scores: *mut f64,
) -> c_int {
    // SAFETY: what the caller promises is what is asked for.
    unsafe { score(model, rows, num_rows, scores) }
}

/// The message of this thread's last call that failed.
#[unsafe(no_mangle)]
pub extern "C" fn rustrank_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// # Safety
///
/// As for [`rustrank_score_f32`].
unsafe fn score<T: Value>(
    model: *const rustrank_model,
    rows: *const T,
    num_rows: usize,
    scores: *mut f64,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let scorer = &unsafe { model.as_ref() }.ok_or_else(|| null("model"))?.scorer;
        let width = scorer.num_features();
        let can_be = num_rows <= isize::MAX as usize / size_of::<f64>();
        let values = num_rows.checked_mul(width).filter(|_| can_be).ok_or_else(|| {
            Error::param("capi.rows", "there cannot be so many rows").got(num_rows)
        })?;
        // SAFETY: as the caller promises.
        let rows = unsafe { slice(rows, values, "rows") }?;
        if num_rows == 0 {
            return Ok(());
        }
        if scores.is_null() {
            return Err(null("scores"));
        }
        // SAFETY: not NULL, so there is room for them.
        let scores = unsafe { std::slice::from_raw_parts_mut(scores, num_rows) };
        let each = if scorer.is_short(4 * ROWS) { 4 * ROWS } else { ROWS };
        for (i, scores) in scores.chunks_mut(each).enumerate() {
            scorer.score(&rows[i * each * width..][..scores.len() * width], scores)?;
        }
        Ok(())
    })
}

/// The slice at a pointer from C; NULL is an empty one.
///
/// # Safety
///
/// `start` is NULL or points to `length` values that nothing writes to.
unsafe fn slice<'a, T>(start: *const T, length: usize, name: &str) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(null(name));
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(Error::param("capi.length", format!("{name} cannot be so long")).got(length));
    }
    // SAFETY: not NULL and of a length that can be, so the caller promises that it is there.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}
