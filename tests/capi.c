/* What tests/capi.rs compiles and runs: `capi MODEL ROWS COUNT` prints the bits of the scores of
 * the rows of singles in the file ROWS, as four threads find them, or fails. */
#include "rustrank.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, rustrank_last_error());     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const rustrank_model *shared;
static const float *rows;
static size_t count;

static void *work(void *unused) {
    (void)unused;
    double *scores = malloc(count * sizeof *scores);
    CHECK(rustrank_score_f32(shared, rows, count, scores) == RUSTRANK_OK);
    return scores;
}

static void errors(const char *path) {
    rustrank_model *model = (rustrank_model *)&count;
    double score;
    float row = 0;
    CHECK(rustrank_load("no such file", &model) == RUSTRANK_IO && model == NULL);
    CHECK(strstr(rustrank_last_error(), "no such file"));
    CHECK(rustrank_load(NULL, &model) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_load(path, NULL) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_load("\xff", &model) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_parse("<html>", 6, &model) == RUSTRANK_MODEL && model == NULL);
    CHECK(strstr(rustrank_last_error(), "not a rustrank model"));
    CHECK(rustrank_parse(NULL, 6, &model) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_parse(NULL, 0, &model) == RUSTRANK_MODEL);
    CHECK(rustrank_score_f32(NULL, &row, 1, &score) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_score_f32(shared, NULL, 1, &score) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_score_f32(shared, rows, 1, NULL) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_score_f32(shared, rows, SIZE_MAX / 2, &score) == RUSTRANK_ARGUMENT);
    CHECK(rustrank_score_f32(shared, NULL, 0, NULL) == RUSTRANK_OK);
    CHECK(rustrank_num_features(NULL) == 0);
    rustrank_free(NULL);
}

int main(int argc, char **argv) {
    rustrank_model *model = NULL;
    CHECK(argc == 4);
    CHECK(rustrank_load(argv[1], &model) == RUSTRANK_OK);
    size_t width = rustrank_num_features(model);
    count = strtoul(argv[3], NULL, 10);
    float *read = malloc(count * width * sizeof *read);
    FILE *file = fopen(argv[2], "rb");
    CHECK(file && fread(read, sizeof *read, count * width, file) == count * width);
    fclose(file);
    shared = model;
    rows = read;
    errors(argv[1]);

    pthread_t threads[4];
    double *scores[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], (void **)&scores[i]) == 0);

    double *wide = malloc(count * width * sizeof *wide);
    for (size_t i = 0; i < count * width; i++)
        wide[i] = read[i];
    double *again = malloc(count * sizeof *again);
    CHECK(rustrank_score_f64(model, wide, count, again) == RUSTRANK_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits[2];
        CHECK(!memcmp(&scores[0][i], &scores[i % 4][i], 8) && !memcmp(&again[i], &scores[0][i], 8));
        memcpy(bits, &again[i], 8);
        printf("%016" PRIx64 "\n", bits[0]);
    }
    for (int i = 0; i < 4; i++)
        free(scores[i]);
    free(again);
    free(wide);
    free(read);
    rustrank_free(model);
    return 0;
}
