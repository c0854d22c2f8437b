/* Lets the k-th call of the system fail that touches a file of one folder: for tests of saving and reading.
 *
 * Loaded by LD_PRELOAD. A test arms it in a forked child by io_faults_arm, and asks for the number of calls by
 * io_faults_calls. Counted are open, read, write, rename, fsync, close, unlink, mkdir and mmap on files below the
 * folder, of Rust, Python and C++ libraries alike, since all of them go through the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { COUNT, FAIL, INTERRUPT, SHORT, KILL };
enum { MOST_FILES = 4096 };

static atomic_long calls;
static long chosen = -1;
static enum mode mode = COUNT;
static char folder[PATH_MAX];
static size_t folder_length;
static atomic_bool armed;
/* The name of the call that was chosen. */
static char last_call[32] = "none";
static atomic_bool tracked[MOST_FILES];

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

void io_faults_arm(const char *where, int how, long k) {
    strncpy(folder, where, sizeof folder - 1);
    folder_length = strlen(folder);
    mode = (enum mode)how;
    chosen = k;
    atomic_store(&calls, 0);
    atomic_store(&armed, 1);
}

void io_faults_disarm(void) { atomic_store(&armed, 0); }

long io_faults_calls(void) { return atomic_load(&calls); }

const char *io_faults_call(void) { return last_call; }

static int is_below(const char *path) {
    return atomic_load(&armed) && path && strncmp(path, folder, folder_length) == 0;
}

static int is_tracked(int file) {
    return atomic_load(&armed) && file >= 0 && file < MOST_FILES && atomic_load(&tracked[file]);
}

static void track(int file, int whether) {
    if (file >= 0 && file < MOST_FILES) {
        atomic_store(&tracked[file], whether);
    }
}

static void end(void) {
    kill(getpid(), SIGKILL);
    pause();
}

/* Counts a call; whether it is the chosen one. */
static int is_chosen(const char *name) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (number != chosen) {
        return 0;
    }
    strncpy(last_call, name, sizeof last_call - 1);
    if (mode == KILL && strcmp(name, "write") != 0) {
        end();
    }
    return mode == FAIL || mode == INTERRUPT || mode == SHORT;
}

/* Whether the call fails, with what errno. Only reading and writing can be interrupted or be short. */
static int fails(const char *name, int number, int can_be_partial) {
    if (!is_chosen(name)) {
        return 0;
    }
    if (mode == FAIL || (mode == INTERRUPT && can_be_partial)) {
        errno = mode == FAIL ? number : EINTR;
        return 1;
    }
    return 0;
}

/* How many bytes are read or written; in `failed` whether it fails, with what errno. */
static size_t shortened(const char *name, size_t length, int *failed, int number) {
    *failed = 0;
    if (!is_chosen(name)) {
        return length;
    }
    if (mode == SHORT) {
        return length > 1 ? length / 2 : length;
    }
    errno = mode == INTERRUPT ? EINTR : number;
    *failed = 1;
    return length;
}

static int opened(int file) {
    track(file, file >= 0);
    return file;
}

#define OPEN(name, open_file, ...)                                                                                     \
    int below = is_below(path);                                                                                        \
    mode_t rights = 0;                                                                                                 \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        rights = va_arg(more, mode_t);                                                                                 \
        va_end(more);                                                                                                  \
    }                                                                                                                  \
    if (below && fails(name, flags & O_CREAT ? ENOSPC : EIO, 0)) {                                                     \
        return -1;                                                                                                     \
    }                                                                                                                  \
    int file = open_file(__VA_ARGS__, flags, rights);                                                                  \
    return below ? opened(file) : file;

int open(const char *path, int flags, ...) { OPEN("open", NEXT(open), path) }
int open64(const char *path, int flags, ...) { OPEN("open", NEXT(open64), path) }
int openat(int at, const char *path, int flags, ...) { OPEN("open", NEXT(openat), at, path) }
int openat64(int at, const char *path, int flags, ...) { OPEN("open", NEXT(openat64), at, path) }

FILE *fopen(const char *path, const char *how) {
    int below = is_below(path);
    if (below && fails("open", EIO, 0)) {
        return NULL;
    }
    FILE *file = NEXT(fopen)(path, how);
    if (below && file) {
        track(fileno(file), 1);
    }
    return file;
}

FILE *fopen64(const char *path, const char *how) { return fopen(path, how); }

ssize_t read(int file, void *bytes, size_t length) {
    int failed = 0;
    if (is_tracked(file)) {
        length = shortened("read", length, &failed, EIO);
    }
    return failed ? -1 : NEXT(read)(file, bytes, length);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
    int failed = 0;
    if (is_tracked(file)) {
        length = shortened("read", length, &failed, EIO);
    }
    return failed ? -1 : NEXT(pread64)(file, bytes, length, at);
}

/* A process that is killed in a write has written half. */
ssize_t write(int file, const void *bytes, size_t length) {
    int failed = 0;
    if (is_tracked(file)) {
        length = shortened("write", length, &failed, ENOSPC);
        if (mode == KILL && atomic_load(&calls) == chosen) {
            NEXT(write)(file, bytes, length / 2);
            end();
        }
    }
    return failed ? -1 : NEXT(write)(file, bytes, length);
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    if (is_tracked(file) && fails("writev", ENOSPC, 1)) {
        return -1;
    }
    return NEXT(writev)(file, parts, number);
}

int fsync(int file) {
    if (is_tracked(file) && fails("fsync", EIO, 0)) {
        return -1;
    }
    return NEXT(fsync)(file);
}

int fdatasync(int file) {
    if (is_tracked(file) && fails("fsync", EIO, 0)) {
        return -1;
    }
    return NEXT(fdatasync)(file);
}

int ftruncate64(int file, off64_t length) {
    if (is_tracked(file) && fails("truncate", EIO, 0)) {
        return -1;
    }
    return NEXT(ftruncate64)(file, length);
}

/* A close that fails has closed the file all the same, as on Linux. */
int close(int file) {
    if (!is_tracked(file)) {
        return NEXT(close)(file);
    }
    track(file, 0);
    int chosen_now = is_chosen("close");
    int closed = NEXT(close)(file);
    if (chosen_now && mode == FAIL) {
        errno = EIO;
        return -1;
    }
    return closed;
}

int rename(const char *from, const char *to) {
    if ((is_below(from) || is_below(to)) && fails("rename", EIO, 0)) {
        return -1;
    }
    return NEXT(rename)(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
    if ((is_below(from) || is_below(to)) && fails("rename", EIO, 0)) {
        return -1;
    }
    return NEXT(renameat)(from_at, from, to_at, to);
}

int unlink(const char *path) {
    if (is_below(path) && fails("unlink", EIO, 0)) {
        return -1;
    }
    return NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t rights) {
    if (is_below(path) && fails("mkdir", ENOSPC, 0)) {
        return -1;
    }
    return NEXT(mkdir)(path, rights);
}

static void *map(void *(*next)(void *, size_t, int, int, int, off64_t), void *at, size_t length, int rights,
                 int flags, int file, off64_t from) {
    if (is_tracked(file) && fails("mmap", ENOMEM, 0)) {
        return MAP_FAILED;
    }
    return next(at, length, rights, flags, file, from);
}

void *mmap64(void *at, size_t length, int rights, int flags, int file, off64_t from) {
    return map(NEXT(mmap64), at, length, rights, flags, file, from);
}

void *mmap(void *at, size_t length, int rights, int flags, int file, off_t from) {
    return map(NEXT(mmap64), at, length, rights, flags, file, from);
}
