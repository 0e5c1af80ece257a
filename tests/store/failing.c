/*
 * Loaded before a program, it has the Nth call of a kind fail, on files of one directory.
 *
 *   FAIL_CALL   write, sync, truncate, rename or open
 *   FAIL_NTH    which of them, from 1; all later ones fail, too, if FAIL_LASTS is set
 *   FAIL_ERRNO  with what
 *   FAIL_PATH   the directory
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

static int is_inside(const char *path) {
    const char *directory = getenv("FAIL_PATH");
    return directory && strncmp(path, directory, strlen(directory)) == 0;
}

static int fails(const char *call) {
    const char *wanted = getenv("FAIL_CALL");
    if (!wanted || strcmp(wanted, call) != 0) return 0;
    int nth = atoi(getenv("FAIL_NTH"));
    int count = atomic_fetch_add(&calls, 1) + 1;
    if (count != nth && !(count > nth && getenv("FAIL_LASTS"))) return 0;
    errno = atoi(getenv("FAIL_ERRNO"));
    return 1;
}

static int fails_at(const char *call, int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_inside(path) && fails(call);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    return fails_at("write", file) ? -1 : REAL(pwrite64)(file, bytes, count, at);
}

ssize_t write(int file, const void *bytes, size_t count) {
    return fails_at("write", file) ? -1 : REAL(write)(file, bytes, count);
}

int fsync(int file) { return fails_at("sync", file) ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return fails_at("sync", file) ? -1 : REAL(fdatasync)(file); }

int ftruncate64(int file, off64_t length) {
    return fails_at("truncate", file) ? -1 : REAL(ftruncate64)(file, length);
}

int rename(const char *from, const char *to) {
    return is_inside(to) && fails("rename") ? -1 : REAL(rename)(from, to);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return is_inside(path) && fails("open") ? -1 : REAL(open64)(path, flags, mode);
}
