/*
 * Preloaded into a process, it sees every call by which that process changes a file or a folder or
 * speaks on a socket, and numbers them: these are its kill points. At one of them it can kill the
 * process, or make the call fail; and it can log them all, so that images of the disk can be cut.
 *
 * Pipes and terminals are not seen: the test bench speaks to the process through pipes. Memory that
 * is mapped is not seen either; SQLite maps its -shm file, which holds nothing that is to last.
 * One thread: the numbers are not guarded. The C library is passed by: calls go to the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef __LP64__
#error "64 bits only: a 32-bit system splits its offsets"
#endif

enum op { WRITE = 1, TRUNCATE, SYNC, CREATE, RENAME, UNLINK, SEND, OTHER };
enum action { WATCH, KILL_BEFORE, KILL_AFTER, FAIL_ONCE, FULL, SHORT };

/* One logged call, followed by `path_size` bytes of path (a rename: two, each ended by 0) and `size` of data. */
struct entry {
    uint32_t op, path_size;
    uint64_t inode;
    int64_t offset; /* WRITE: where; TRUNCATE: the new size */
    uint64_t size;
};

struct call {
    enum op op;
    int fd;
    uint64_t inode;
    int64_t offset;
    const struct iovec *pieces;
    int count;
    int seen; /* it has a number */
    int dies; /* the process is killed after it */
    int cut;  /* only half of it is done */
    char path[2 * PATH_MAX];
    size_t path_size;
};

static int armed, full, error_number, log_fd = -1;
static enum action action;
static long seen, at;

/* --- for the test bench --------------------------------------------------------------------- */

/* Number the calls from 1 on. `log` is a descriptor, or -1; `number` 0 is never reached. */
void recorder_arm(int what, long number, int error, int log)
{
    armed = 1, full = 0, seen = 0;
    action = what, at = number, error_number = error, log_fd = log;
}

long recorder_seen(void) { return seen; }

void recorder_disarm(void) { armed = 0; }

/* --- what every call goes through ----------------------------------------------------------- */

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static size_t size_of(const struct call *call)
{
    size_t size = 0;
    for (int i = 0; i < call->count; i++)
        size += call->pieces[i].iov_len;
    return size;
}

/* A full disk refuses what needs room, and nothing else. */
static int refused(const struct call *call)
{
    if (call->op == SEND)
        return 0;
    if (full)
        return call->op == WRITE || call->op == CREATE;
    return action == FAIL_ONCE && seen == at;
}

/* Number the call. Returns -1 with errno set when it is to fail. */
static int enter(struct call *call)
{
    if (!armed || !call->seen)
        return 0;
    seen++;
    if (seen == at) {
        if (action == KILL_BEFORE)
            die();
        call->dies = action == KILL_AFTER;
        call->cut = action == SHORT && call->op == WRITE && size_of(call) > 1;
        full = action == FULL || (action == SHORT && !call->cut);
    }
    if (refused(call)) {
        errno = error_number;
        return -1;
    }
    return 0;
}

static void put(const void *data, size_t size)
{
    const char *rest = data;
    while (size) {
        ssize_t done = syscall(SYS_write, log_fd, rest, size);
        if (done < 0)
            die(); /* a log with a hole proves nothing */
        rest += done, size -= done;
    }
}

static void log_call(struct call *call, size_t done)
{
    struct entry entry = {call->op, call->path_size, call->inode, call->offset, done};
    put(&entry, sizeof entry);
    put(call->path, call->path_size);
    for (int i = 0; i < call->count && done; i++) {
        size_t part = call->pieces[i].iov_len < done ? call->pieces[i].iov_len : done;
        put(call->pieces[i].iov_base, part);
        done -= part;
    }
}

static ssize_t leave(struct call *call, ssize_t result)
{
    int error = errno;
    if (armed && call->seen) {
        if (log_fd >= 0 && result >= 0)
            log_call(call, call->count ? (size_t)result : 0);
        if (call->dies)
            die();
        if (call->cut)
            full = 1;
    }
    errno = error;
    return result;
}

/* --- what a call is about --------------------------------------------------------------------- */

static void name_socket(struct call *call)
{
    struct sockaddr_un peer;
    socklen_t size = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (!syscall(SYS_getpeername, call->fd, &peer, &size) && peer.sun_family == AF_UNIX)
        call->path_size = strnlen(strcpy(call->path, peer.sun_path), PATH_MAX);
}

static void name_file(struct call *call)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, call->path, PATH_MAX);
    call->path_size = size > 0 ? size : 0;
}

static struct call on_fd(enum op op, int fd, int64_t offset, const struct iovec *pieces, int count)
{
    struct call call = {.op = op, .fd = fd, .offset = offset, .pieces = pieces, .count = count};
    struct stat found;
    int error = errno;
    if (armed && !syscall(SYS_fstat, fd, &found)) {
        int socket = S_ISSOCK(found.st_mode);
        call.seen = socket || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode);
        call.inode = found.st_ino;
        if (socket)
            call.op = SEND;
        if (op == WRITE && !socket && offset < 0)
            call.offset = syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND ? found.st_size
                                                                     : syscall(SYS_lseek, fd, 0, SEEK_CUR);
        if (call.seen && log_fd >= 0)
            socket ? name_socket(&call) : name_file(&call);
    }
    errno = error;
    return call;
}

static size_t absolute(char *into, int folder, const char *path)
{
    char link[64];
    ssize_t size = 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        size = syscall(SYS_readlinkat, AT_FDCWD, link, into, PATH_MAX / 2);
        if (size < 0)
            size = 0;
        into[size++] = '/';
    }
    strncpy(into + size, path, PATH_MAX / 2 - 1);
    return strlen(into);
}

static struct call on_path(enum op op, int folder, const char *path)
{
    struct call call = {.op = op, .fd = -1, .seen = 1};
    struct stat found;
    int error = errno;
    if (armed) {
        call.path_size = absolute(call.path, folder, path);
        if (!syscall(SYS_newfstatat, folder, path, &found, AT_SYMLINK_NOFOLLOW))
            call.inode = found.st_ino;
    }
    errno = error;
    return call;
}

/* --- writes ------------------------------------------------------------------------------------- */

static ssize_t written(int fd, const struct iovec *pieces, int count, int64_t offset)
{
    struct call call = on_fd(WRITE, fd, offset, pieces, count);
    if (enter(&call))
        return -1;
    struct iovec half = pieces[0];
    if (call.cut) {
        half.iov_len = (half.iov_len + 1) / 2;
        pieces = call.pieces = &half;
        count = call.count = 1;
    }
    long low = offset < 0 ? 0 : offset;
    return leave(&call, offset < 0 ? syscall(SYS_writev, fd, pieces, count)
                                   : syscall(SYS_pwritev, fd, pieces, count, low, 0));
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct iovec piece = {(void *)data, size};
    return written(fd, &piece, 1, -1);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) { return written(fd, pieces, count, -1); }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    struct iovec piece = {(void *)data, size};
    return written(fd, &piece, 1, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t offset)
{
    return written(fd, pieces, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    return written(fd, pieces, count, offset);
}

int ftruncate64(int fd, off64_t size)
{
    struct call call = on_fd(TRUNCATE, fd, size, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_ftruncate, fd, size));
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* Ways to change a file that nobody here is known to use. They are points, and no image can be cut
 * from a log that has them. */
int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
    struct call call = on_fd(OTHER, fd, offset, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_fallocate, fd, mode, offset, size));
}

int fallocate(int fd, int mode, off_t offset, off_t size) { return fallocate64(fd, mode, offset, size); }

int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
    return fallocate64(fd, 0, offset, size) ? errno : 0;
}

int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags)
{
    struct call call = on_fd(OTHER, out, 0, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_copy_file_range, in, from, out, to, size, flags));
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t size)
{
    struct call call = on_fd(OTHER, out, 0, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_sendfile, out, in, offset, size));
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) { return sendfile64(out, in, offset, size); }

/* --- syncs ---------------------------------------------------------------------------------------- */

int fsync(int fd)
{
    struct call call = on_fd(SYNC, fd, 0, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    struct call call = on_fd(SYNC, fd, 0, NULL, 0);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_fdatasync, fd));
}

/* --- names ---------------------------------------------------------------------------------------- */

static int opened(int folder, const char *path, int flags, mode_t mode)
{
    struct stat found;
    int error = errno;
    int there = !syscall(SYS_newfstatat, folder, path, &found, 0);
    int creates = (flags & O_CREAT) && !there;
    int empties = (flags & O_TRUNC) && there && S_ISREG(found.st_mode);
    errno = error;
    if (!creates && !empties)
        return syscall(SYS_openat, folder, path, flags, mode);
    struct call call = on_path(creates ? CREATE : TRUNCATE, folder, path);
    if (enter(&call))
        return -1;
    int fd = syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && !syscall(SYS_fstat, fd, &found))
        call.inode = found.st_ino;
    return leave(&call, fd);
}

#define MODE_OF(flags)                                                                                       \
    ({                                                                                                       \
        mode_t mode = 0;                                                                                     \
        if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                             \
            va_list rest;                                                                                    \
            va_start(rest, flags);                                                                           \
            mode = va_arg(rest, int);                                                                        \
            va_end(rest);                                                                                    \
        }                                                                                                    \
        mode;                                                                                                \
    })

int open(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE_OF(flags)); }
int open64(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE_OF(flags)); }
int openat(int folder, const char *path, int flags, ...) { return opened(folder, path, flags, MODE_OF(flags)); }
int openat64(int folder, const char *path, int flags, ...) { return opened(folder, path, flags, MODE_OF(flags)); }

int creat(const char *path, mode_t mode)
{
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    struct call call = on_path(flags ? OTHER : RENAME, from, old);
    if (armed) {
        call.path_size++;
        call.path_size += absolute(call.path + call.path_size, to, new) + 1;
    }
    return enter(&call) ? -1 : leave(&call, syscall(SYS_renameat2, from, old, to, new, flags));
}

int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }

int unlinkat(int folder, const char *path, int flags)
{
    struct call call = on_path(flags ? OTHER : UNLINK, folder, path);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_unlinkat, folder, path, flags));
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    struct call call = on_path(OTHER, from, old);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_linkat, from, old, to, new, flags));
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

/* --- what is said ------------------------------------------------------------------------------- */

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size)
{
    struct iovec piece = {(void *)data, size};
    struct call call = on_fd(SEND, fd, 0, &piece, 1);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_sendto, fd, data, size, flags, to, to_size));
}

ssize_t send(int fd, const void *data, size_t size, int flags) { return sendto(fd, data, size, flags, NULL, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct call call = on_fd(SEND, fd, 0, message->msg_iov, message->msg_iovlen);
    return enter(&call) ? -1 : leave(&call, syscall(SYS_sendmsg, fd, message, flags));
}
