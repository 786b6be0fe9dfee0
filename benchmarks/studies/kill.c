/* Loaded before libc (LD_PRELOAD): ends the process with SIGKILL at the n-th write, sync or message that concerns a
 * database. What concerns one: files whose path starts with FAIRARM_KILL_FILES, sockets whose peer is FAIRARM_KILL_PORT.
 * Counting starts when fairarm_kill_at(n, how) is called: how 0 kills before the call, 1 after half of its bytes, 2 after
 * it. fairarm_kill_seen() is how many there were since, fairarm_kill_syncs() how many of them were syncs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long seen, target, syncs;
static atomic_int how_to, armed;

void fairarm_kill_at(long n, int how) { target = n; how_to = how; seen = 0; syncs = 0; armed = 1; }
long fairarm_kill_seen(void) { return seen; }
long fairarm_kill_syncs(void) { return syncs; }

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

static int is_file(int fd) {
    const char *prefix = getenv("FAIRARM_KILL_FILES");
    char link[64], path[4096];
    if (!prefix || !*prefix) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

static int is_socket(int fd) {
    const char *port = getenv("FAIRARM_KILL_PORT");
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    if (!port || !*port || getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return 0;
    return peer.sin_family == AF_INET && ntohs(peer.sin_port) == atoi(port);
}

static int path_counts(const char *path) {
    const char *prefix = getenv("FAIRARM_KILL_FILES");
    return prefix && *prefix && strncmp(path, prefix, strlen(prefix)) == 0;
}

/* Whether this call is the one; before it, the process may end here. */
static int now(int counts) {
    if (!armed || !counts) return 0;
    if (atomic_fetch_add(&seen, 1) + 1 != target) return 0;
    if (how_to == 0) die();
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define HALF(n) (how_to == 1 ? (n) / 2 : (n))
#define BYTES(type, name, counts, params, whole, half)                                                                 \
    type name params {                                                                                                 \
        static __typeof__(&name) real;                                                                                 \
        if (!real) real = REAL(name);                                                                                  \
        if (now(counts)) { half; die(); }                                                                              \
        return whole;                                                                                                  \
    }
#define WHOLE(type, name, counts, params, args)                                                                        \
    type name params {                                                                                                 \
        static __typeof__(&name) real;                                                                                 \
        if (!real) real = REAL(name);                                                                                  \
        int last = now(counts);                                                                                        \
        type result = real args;                                                                                       \
        if (last) die();                                                                                               \
        return result;                                                                                                 \
    }
#define EITHER(fd) (is_file(fd) || is_socket(fd))

BYTES(ssize_t, write, EITHER(fd), (int fd, const void *b, size_t n), real(fd, b, n), (void)!real(fd, b, HALF(n)))
BYTES(ssize_t, pwrite, is_file(fd), (int fd, const void *b, size_t n, off_t at), real(fd, b, n, at),
      (void)!real(fd, b, HALF(n), at))
BYTES(ssize_t, pwrite64, is_file(fd), (int fd, const void *b, size_t n, off64_t at), real(fd, b, n, at),
      (void)!real(fd, b, HALF(n), at))
BYTES(ssize_t, send, is_socket(fd), (int fd, const void *b, size_t n, int f), real(fd, b, n, f),
      (void)!real(fd, b, HALF(n), f))
WHOLE(ssize_t, recv, is_socket(fd), (int fd, void *b, size_t n, int f), (fd, b, n, f))
WHOLE(int, fsync, is_file(fd) && ++syncs, (int fd), (fd))
WHOLE(int, fdatasync, is_file(fd) && ++syncs, (int fd), (fd))
WHOLE(int, ftruncate, is_file(fd), (int fd, off_t n), (fd, n))
WHOLE(int, ftruncate64, is_file(fd), (int fd, off64_t n), (fd, n))
WHOLE(int, unlink, path_counts(path), (const char *path), (path))
