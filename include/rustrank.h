/* rustrank's scorer for C: load a model, score rows, free it.
 *
 *   cargo build --release --features capi      (target/release/librustrank.so)
 *   cargo rustc --release --features capi --crate-type staticlib
 *
 * A model never changes: any number of threads may score with it at once, without locks. A call
 * works on the thread that makes it, starts no thread and, once a thread has made a call as large,
 * allocates nothing. No call lets a Rust panic into C.
 */
#ifndef RUSTRANK_H
#define RUSTRANK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model made ready to score. */
typedef struct rustrank_model rustrank_model;

/* What a call returns: RUSTRANK_OK, or why it could not be done. */
enum rustrank_status {
    RUSTRANK_OK = 0,
    /* An argument is NULL, a path is no UTF-8, or rows have another length. */
    RUSTRANK_ARGUMENT = 1,
    /* The system could not read the file. */
    RUSTRANK_IO = 2,
    /* The file is no model, is broken, or is of a newer version. */
    RUSTRANK_MODEL = 3,
    /* A bug in rustrank. */
    RUSTRANK_INTERNAL = 4
};

/* Reads a model file: rustrank's, LightGBM's text, XGBoost's JSON or UBJSON, CatBoost's JSON.
 * On success `*model` is to be given to rustrank_free; else it is NULL. */
int rustrank_load(const char *path, rustrank_model **model);

/* The same from the bytes of a file. */
int rustrank_parse(const void *bytes, size_t length, rustrank_model **model);

/* Frees a model, which no thread may be using; NULL is nothing to free. */
void rustrank_free(rustrank_model *model);

/* The number of values in a row; 0 if `model` is NULL. */
size_t rustrank_num_features(const rustrank_model *model);

/* Writes the score of each of `num_rows` rows, which stand one after the other in `rows`:
 * num_rows * rustrank_num_features(model) values. NaN is a missing value. */
int rustrank_score_f32(const rustrank_model *model, const float *rows, size_t num_rows,
                       double *scores);
int rustrank_score_f64(const rustrank_model *model, const double *rows, size_t num_rows,
                       double *scores);

/* What was wrong with this thread's last call that failed, as UTF-8; never NULL, and valid until
 * the thread's next call that fails. */
const char *rustrank_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
