/*
 * A disk that fails on command, for one process: loaded before libc (LD_PRELOAD), it stands in front of the calls that
 * reach a file and lets them fail, or ends the process, as one line in a file of the test's says. Only files under one
 * folder are touched. Knows nothing of what the files hold.
 *
 * FAULTS_FOLDER  the folder, an absolute path without links in it.
 * FAULTS_PLAN    the file with the line: WHICH WHAT AFTER NUMBER
 *   WHICH   reads | writes | syncs | changes (whatever changes a file or a folder)
 *   WHAT    the number of an error, 0 for none, or -9: the process ends as by SIGKILL, before the call
 *   AFTER   how many calls of that kind are let pass first
 *   NUMBER  of the plan: under another one the count begins anew
 * An empty or absent file: nothing fails, and nothing is counted.
 * FAULTS_TRACE   a file that gets a line for each call that was counted: its name, and the file below the folder
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
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { READS, WRITES, SYNCS, CHANGES };
static const char *const names[] = {"reads", "writes", "syncs", "changes"};
static int passed, planned;

#define REAL(type, name, ...)                                                  \
  static type (*real)(__VA_ARGS__);                                            \
  if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_ours(const char *path) {
  const char *folder = getenv("FAULTS_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_our_file(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path);
}

/* Straight to the kernel: what is done here is no call of the process. */
static int open_quietly(const char *path, int flags) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static void note(const char *call, const char *path) {
  const char *trace = getenv("FAULTS_TRACE");
  int fd = trace == NULL ? -1 : open_quietly(trace, O_WRONLY | O_APPEND | O_CREAT);
  if (fd < 0) return;
  char line[4200];
  int length = snprintf(line, sizeof line, "%s .%s\n", call, path + strlen(getenv("FAULTS_FOLDER")));
  syscall(SYS_write, fd, line, length);
  close(fd);
}

/* The error that a call of this kind is to fail with; 0 for none. A write and a sync are changes too. */
static int fault(enum kind kind, const char *call, const char *path) {
  const char *plan = getenv("FAULTS_PLAN");
  int fd = plan == NULL ? -1 : open_quietly(plan, O_RDONLY);
  if (fd < 0) return 0;
  char line[128] = {0}, which[32];
  ssize_t length = syscall(SYS_read, fd, line, sizeof line - 1);
  close(fd);
  int what, after, number;
  if (length <= 0 || sscanf(line, "%31s %d %d %d", which, &what, &after, &number) != 4) return 0;
  int is_meant = strcmp(which, names[kind]) == 0;
  if (strcmp(which, names[CHANGES]) == 0 && kind != READS) is_meant = 1;
  if (!is_meant) return 0;
  if (__atomic_exchange_n(&planned, number, __ATOMIC_SEQ_CST) != number) passed = 0;
  int step = __sync_add_and_fetch(&passed, 1);
  note(call, path);
  if (step <= after) return 0;
  if (what == -9) raise(SIGKILL);
  return what;
}

static int fails(enum kind kind, const char *call, int fd) {
  int before = errno;
  char path[4096];
  int error = is_our_file(fd, path, sizeof path) ? fault(kind, call, path) : 0;
  errno = error == 0 ? before : error;
  return error != 0;
}

static int path_fails(const char *call, const char *path) {
  int before = errno;
  int error = is_ours(path) ? fault(CHANGES, call, path) : 0;
  errno = error == 0 ? before : error;
  return error != 0;
}

#define ON_FILE(type, kind, name, parameters, arguments, ...)                  \
  type name parameters {                                                       \
    REAL(type, #name, __VA_ARGS__);                                            \
    return fails(kind, #name, fd) ? (type)-1 : real arguments;                 \
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
    return path_fails(#name, path) ? -1 : real arguments;                      \
  }

ON_PATH(unlink, (const char *path), (path), const char *)
ON_PATH(remove, (const char *path), (path), const char *)
ON_PATH(rmdir, (const char *path), (path), const char *)
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
    int is_there = access(path, F_OK) == 0;                                    \
    int changes = is_there ? (flags & (O_TRUNC | O_EXCL)) == O_TRUNC           \
                           : flags & O_CREAT;                                  \
    return changes && path_fails(#name, path) ? -1 : real(path, flags, mode);  \
  }

ON_OPEN(open)
ON_OPEN(open64)
