/*
 * A disk that fails on command, for one process: loaded before libc (LD_PRELOAD), it stands in front of the calls that
 * reach a file and lets them fail, or ends the process, as one line in a file of the test's says. Only files under one
 * folder are touched. Knows nothing of what the files hold.
 *
 * FAULTS_FOLDER  the folder, an absolute path without links in it.
 * FAULTS_PLAN    the file with the line: WHICH WHAT AFTER
 *   WHICH  reads | writes | syncs | changes (whatever changes a file or a folder)
 *   WHAT   the number of an error, or -9: the process ends as by SIGKILL, before the call
 *   AFTER  how many calls of that kind are let pass first
 * An empty or absent file: nothing fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { READS, WRITES, SYNCS, CHANGES };
static const char *const names[] = {"reads", "writes", "syncs", "changes"};
static int passed;

#define REAL(type, name, ...)                                                  \
  static type (*real)(__VA_ARGS__);                                            \
  if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_ours(const char *path) {
  const char *folder = getenv("FAULTS_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_our_file(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path);
}

/* The error that a call of this kind is to fail with; 0 for none. A write and a sync are changes too. */
static int fault(enum kind kind) {
  static ssize_t (*real_read)(int, void *, size_t);
  if (real_read == NULL) real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  const char *plan = getenv("FAULTS_PLAN");
  if (plan == NULL) return 0;
  int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
  int fd = real_open(plan, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char line[128] = {0}, which[32];
  ssize_t length = real_read(fd, line, sizeof line - 1);
  close(fd);
  int what, after;
  if (length <= 0 || sscanf(line, "%31s %d %d", which, &what, &after) != 3) return 0;
  int is_meant = strcmp(which, names[kind]) == 0;
  if (strcmp(which, names[CHANGES]) == 0 && kind != READS) is_meant = 1;
  if (!is_meant || __sync_add_and_fetch(&passed, 1) <= after) return 0;
  if (what == -9) raise(SIGKILL);
  return what;
}

static int fails(enum kind kind, int fd) {
  int error = is_our_file(fd) ? fault(kind) : 0;
  errno = error == 0 ? errno : error;
  return error != 0;
}

static int path_fails(const char *path) {
  int error = is_ours(path) ? fault(CHANGES) : 0;
  errno = error == 0 ? errno : error;
  return error != 0;
}

#define ON_FILE(type, kind, name, parameters, arguments, ...)                  \
  type name parameters {                                                       \
    REAL(type, #name, __VA_ARGS__);                                            \
    return fails(kind, fd) ? (type)-1 : real arguments;                        \
  }

ON_FILE(ssize_t, READS, read, (int fd, void *to, size_t size), (fd, to, size), int, void *, size_t)
ON_FILE(ssize_t, READS, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), int, void *, size_t, off_t)
ON_FILE(ssize_t, READS, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at), int, void *, size_t, off64_t)
ON_FILE(ssize_t, WRITES, write, (int fd, const void *from, size_t size), (fd, from, size), int, const void *, size_t)
ON_FILE(ssize_t, WRITES, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), int, const void *, size_t, off_t)
ON_FILE(ssize_t, WRITES, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), int, const void *, size_t, off64_t)
ON_FILE(ssize_t, WRITES, writev, (int fd, const struct iovec *from, int count), (fd, from, count), int, const struct iovec *, int)
ON_FILE(int, WRITES, ftruncate, (int fd, off_t size), (fd, size), int, off_t)
ON_FILE(int, WRITES, ftruncate64, (int fd, off64_t size), (fd, size), int, off64_t)
ON_FILE(int, SYNCS, fsync, (int fd), (fd), int)
ON_FILE(int, SYNCS, fdatasync, (int fd), (fd), int)

#define ON_PATH(name, parameters, arguments, ...)                              \
  int name parameters {                                                        \
    REAL(int, #name, __VA_ARGS__);                                             \
    return path_fails(path) ? -1 : real arguments;                             \
  }

ON_PATH(unlink, (const char *path), (path), const char *)
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
ON_PATH(rename, (const char *path, const char *to), (path, to), const char *, const char *)
ON_PATH(link, (const char *path, const char *to), (path, to), const char *, const char *)

#define ON_OPEN(name)                                                          \
  int name(const char *path, int flags, ...) {                                 \
    REAL(int, #name, const char *, int, ...);                                  \
    va_list rest;                                                              \
    va_start(rest, flags);                                                     \
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;                \
    va_end(rest);                                                              \
    int changes = (flags & O_CREAT) && access(path, F_OK) != 0;                \
    return changes && path_fails(path) ? -1 : real(path, flags, mode);         \
  }

ON_OPEN(open)
ON_OPEN(open64)
