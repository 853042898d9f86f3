/*
 * A disk of which the power can be cut, for one process: loaded before libc (LD_PRELOAD), it keeps beside each file what
 * would undo the changes since its last sync, and beside each folder what would undo its new, moved and removed names.
 * A sync forgets them. PowerCut.ts undoes what is left once the process was killed. Knows nothing of what files hold.
 *
 * POWER_FOLDER   the folder whose files are watched, an absolute path without links in it.
 * POWER_JOURNAL  an existing folder on the same file system, where the changes that are not synced are kept:
 *   INODE.bytes  of a file; each change: three 64-bit numbers (its size before, where, how many bytes), the old bytes
 *   INODE.names  of a folder; each change a line: KEPT, a tab, the path. KEPT is the former file's second name in the
 *                journal, or - where the path was new
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(type, name, ...)                                                  \
  static type (*real)(__VA_ARGS__);                                            \
  if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int open_quietly(const char *path, int flags) {
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags | O_CLOEXEC, 0600);
}

static int unlink_quietly(const char *path) {
  REAL(int, "unlink", const char *);
  return real(path);
}

static int is_ours(const char *path) {
  const char *folder = getenv("POWER_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether the descriptor is of a file or folder that is watched; its path and its state. */
static int is_our_file(int fd, char path[4096], struct stat *state) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return 0;
  path[length] = 0;
  return is_ours(path) && fstat(fd, state) == 0;
}

static void journal_of(char name[4096], ino_t inode, const char *what) {
  snprintf(name, 4096, "%s/%llu.%s", getenv("POWER_JOURNAL"), (unsigned long long)inode, what);
}

static void broken(const char *why) {
  dprintf(2, "the power journal cannot be kept: %s\n", why);
  abort();
}

static void append(const char *journal, const void *first, size_t first_size, const void *second, size_t second_size) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  int fd = open_quietly(journal, O_WRONLY | O_CREAT | O_APPEND);
  struct iovec parts[] = {{(void *)first, first_size}, {(void *)second, second_size}};
  if (fd < 0 || real(fd, parts, 2) != (ssize_t)(first_size + second_size)) broken(journal);
  close(fd);
}

/* Keeps what is at `at` for `size` bytes of the file, before that changes. Reads through `fd`: to open a file again and
   close it would lose the locks that the process has on it. */
static void keep_bytes(int fd, const struct stat *state, uint64_t at, uint64_t size) {
  REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
  uint64_t length = (uint64_t)state->st_size;
  uint64_t head[] = {length, at, at >= length ? 0 : size < length - at ? size : length - at};
  char *old = malloc(head[2] + 1), journal[4096];
  if (old == NULL || (head[2] > 0 && real(fd, old, head[2], (off64_t)at) != (ssize_t)head[2])) broken("a file cannot be read");
  journal_of(journal, state->st_ino, "bytes");
  append(journal, head, sizeof head, old, head[2]);
  free(old);
}

static void keep_written(int fd, off64_t at, size_t size) {
  char path[4096];
  struct stat state;
  if (!is_our_file(fd, path, &state) || !S_ISREG(state.st_mode)) return;
  int flags = fcntl(fd, F_GETFL);
  if (at < 0) at = flags & O_APPEND ? state.st_size : lseek64(fd, 0, SEEK_CUR);
  if ((flags & O_ACCMODE) != O_WRONLY || at >= state.st_size) return keep_bytes(fd, &state, (uint64_t)at, size);
  /* Such a file is no database, and nobody locks it. */
  int readable = open_quietly(path, O_RDONLY);
  keep_bytes(readable, &state, (uint64_t)at, size);
  close(readable);
}

/* Keeps what the path is now, before it becomes new, another file or nothing. */
static void keep_name(const char *path) {
  REAL(int, "link", const char *, const char *);
  static unsigned count;
  char folder[4096], journal[4096], line[8192], kept[64] = "-", second[4096];
  struct stat state;
  snprintf(folder, sizeof folder, "%s", path);
  if (stat(dirname(folder), &state) != 0) return;
  journal_of(journal, state.st_ino, "names");
  struct stat former;
  if (lstat(path, &former) == 0) {
    if (!S_ISREG(former.st_mode)) return;
    snprintf(kept, sizeof kept, "kept.%d.%u", getpid(), ++count);
    snprintf(second, sizeof second, "%s/%s", getenv("POWER_JOURNAL"), kept);
    if (real(path, second) != 0) broken(second);
  }
  int length = snprintf(line, sizeof line, "%s\t%s\n", kept, path);
  append(journal, line, (size_t)length, "", 0);
}

/* The folder's names are synced: the former files that are nowhere else by now are gone for good. */
static void forget_names(const char *journal) {
  char line[8192], kept[4096], bytes[4096];
  FILE *lines = fopen(journal, "re");
  while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
    struct stat state;
    if (line[0] == '-') continue;
    snprintf(kept, sizeof kept, "%s/%.*s", getenv("POWER_JOURNAL"), (int)strcspn(line, "\t"), line);
    if (stat(kept, &state) != 0) continue;
    journal_of(bytes, state.st_ino, "bytes");
    if (state.st_nlink == 1) unlink_quietly(bytes);
    unlink_quietly(kept);
  }
  if (lines != NULL) fclose(lines);
  unlink_quietly(journal);
}

static void forget(int fd) {
  char path[4096], journal[4096];
  struct stat state;
  if (!is_our_file(fd, path, &state)) return;
  journal_of(journal, state.st_ino, S_ISDIR(state.st_mode) ? "names" : "bytes");
  if (S_ISDIR(state.st_mode)) forget_names(journal);
  else unlink_quietly(journal);
}

#define IN_TURN(type, call)                                                    \
  type result = call;                                                          \
  pthread_mutex_unlock(&turn);                                                 \
  return result

#define ON_WRITE(type, name, at, size, parameters, arguments, ...)             \
  type name parameters {                                                       \
    REAL(type, #name, __VA_ARGS__);                                            \
    pthread_mutex_lock(&turn);                                                 \
    keep_written(fd, at, size);                                                \
    IN_TURN(type, real arguments);                                             \
  }

static size_t size_of(const struct iovec *parts, int count) {
  size_t size = 0;
  for (int part = 0; part < count; part++) size += parts[part].iov_len;
  return size;
}

ON_WRITE(ssize_t, write, -1, size, (int fd, const void *from, size_t size), (fd, from, size), int, const void *, size_t)
ON_WRITE(ssize_t, pwrite, at, size, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), int, const void *, size_t, off_t)
ON_WRITE(ssize_t, pwrite64, at, size, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), int, const void *, size_t, off64_t)
ON_WRITE(ssize_t, writev, -1, size_of(from, count), (int fd, const struct iovec *from, int count), (fd, from, count), int, const struct iovec *, int)
ON_WRITE(int, ftruncate, size, SIZE_MAX, (int fd, off_t size), (fd, size), int, off_t)
ON_WRITE(int, ftruncate64, size, SIZE_MAX, (int fd, off64_t size), (fd, size), int, off64_t)

#define ON_SYNC(name)                                                          \
  int name(int fd) {                                                           \
    REAL(int, #name, int);                                                     \
    pthread_mutex_lock(&turn);                                                 \
    int result = real(fd);                                                     \
    if (result == 0) forget(fd);                                               \
    pthread_mutex_unlock(&turn);                                               \
    return result;                                                             \
  }

ON_SYNC(fsync)
ON_SYNC(fdatasync)

int unlink(const char *path) {
  pthread_mutex_lock(&turn);
  if (is_ours(path) && access(path, F_OK) == 0) keep_name(path);
  IN_TURN(int, unlink_quietly(path));
}

/* What Node removes goes through here, and from here to the kernel past unlink. */
int remove(const char *path) {
  REAL(int, "remove", const char *);
  pthread_mutex_lock(&turn);
  if (is_ours(path) && access(path, F_OK) == 0) keep_name(path);
  IN_TURN(int, real(path));
}

int rename(const char *path, const char *to) {
  REAL(int, "rename", const char *, const char *);
  pthread_mutex_lock(&turn);
  if (is_ours(path) && access(path, F_OK) == 0) keep_name(path), keep_name(to);
  IN_TURN(int, real(path, to));
}

int link(const char *path, const char *to) {
  REAL(int, "link", const char *, const char *);
  pthread_mutex_lock(&turn);
  if (is_ours(to) && access(to, F_OK) != 0) keep_name(to);
  IN_TURN(int, real(path, to));
}

#define ON_OPEN(name)                                                          \
  int name(const char *path, int flags, ...) {                                 \
    REAL(int, #name, const char *, int, ...);                                  \
    va_list rest;                                                              \
    va_start(rest, flags);                                                     \
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;                \
    va_end(rest);                                                              \
    if (!is_ours(path) || !(flags & (O_CREAT | O_TRUNC))) return real(path, flags, mode); \
    struct stat state;                                                         \
    pthread_mutex_lock(&turn);                                                 \
    if (stat(path, &state) != 0) keep_name(path);                              \
    else if ((flags & O_TRUNC) && S_ISREG(state.st_mode)) {                    \
      int readable = open_quietly(path, O_RDONLY);                             \
      keep_bytes(readable, &state, 0, SIZE_MAX);                               \
      close(readable);                                                         \
    }                                                                          \
    IN_TURN(int, real(path, flags, mode));                                     \
  }

ON_OPEN(open)
ON_OPEN(open64)
