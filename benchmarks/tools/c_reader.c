/*
 * c_reader.c - physical-limit SSE reader: epoll, one thread, a CLOCK_MONOTONIC stamp per read(),
 * dechunks HTTP/1.1, splits SSE events, records a stamp per event, reads the embedded time.
 *
 * Build: gcc -O2 -Wall -Wextra -o c_reader c_reader.c
 * Usage: c_reader [-p port] [-c conns] [-n tokens/request] [-d seconds] [-k] [-T]
 *   -k  keep-alive loop: start a new request when one ends, until -d seconds; else one each.
 *   -T  ask the kernel for receive stamps (SO_TIMESTAMPNS), and give the lag of those too.
 * Prints one JSON line: events, tokens/s, reads, lag (stamp - embedded send time) p50/p99/max.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct rec { int64_t ts, kernel, sent; };
struct conn { int fd, state; size_t left; char line[64]; int nl; char *ev; size_t ev_len; bool done, ended; };
static struct rec *recs; static size_t nrec, cap;
static int port = 8100, conns = 64, ntok = 512; static double dur = 5; static bool keep, stamps;
static int64_t to_monotonic; /* add to a realtime stamp */
static char req[1024]; static int req_len;
static uint64_t events, reads_, bytes_, finished;

static int64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }

static int64_t kernel_now;

static void on_event(const char *p, size_t n, int64_t ts) {
    const char *q = memmem(p, n, "\"content\":\"", 11);
    if (!q || q[11] < '0' || q[11] > '9') return; /* role, usage, [DONE] */
    int64_t v = 0;
    for (q += 11; *q >= '0' && *q <= '9'; q++) v = v * 10 + *q - '0';
    if (nrec == cap) recs = realloc(recs, sizeof *recs * (cap = cap ? 2 * cap : 1 << 22));
    recs[nrec++] = (struct rec){ts, kernel_now, v};
    events++;
}

/* Feed bytes: states 0 headers, 1 size line, 2 data, 3 CRLF after data, 4 final CRLF. */
static void feed(struct conn *c, char *p, size_t n, int64_t ts) {
    while (n) {
        if (c->state == 2) {
            size_t k = n < c->left ? n : c->left;
            if (k == c->left && !c->ev_len) { on_event(p, k, ts); } /* whole event in one piece */
            else {
                memcpy(c->ev + c->ev_len, p, k); c->ev_len += k;
                if (k == c->left) { on_event(c->ev, c->ev_len, ts); c->ev_len = 0; }
            }
            p += k; n -= k; c->left -= k;
            if (!c->left) { c->state = 3; c->nl = 0; }
            continue;
        }
        char ch = *p++; n--;
        if (c->state == 0) {
            if (ch == '\n') { if (c->nl == 0) c->state = 1; c->nl = 0; } else if (ch != '\r') c->nl++;
            if (c->state == 1) c->nl = 0;
        } else if (c->state == 1) {
            if (ch == '\n') { c->line[c->nl] = 0; c->left = strtoul(c->line, NULL, 16); c->nl = 0; c->state = c->left ? 2 : 4; }
            else if (c->nl < 60) c->line[c->nl++] = ch;
        } else if (ch == '\n') {
            if (c->state == 3) c->state = 1;
            else { c->state = 0; c->done = true; finished++; }
            c->nl = 0;
        }
    }
}

static int64_t offset_now(void) { /* of 200 readings of both clocks, the one with the least time between */
    int64_t best = INT64_MAX, found = 0;
    for (int i = 0; i < 200; i++) {
        struct timespec t;
        int64_t a = now_ns();
        clock_gettime(CLOCK_REALTIME, &t);
        int64_t b = now_ns();
        if (b - a < best) { best = b - a; found = (a + b) / 2 - (t.tv_sec * 1000000000LL + t.tv_nsec); }
    }
    return found;
}

static ssize_t receive(int fd, char *buf, size_t size) {
    if (!stamps) return recv(fd, buf, size, MSG_DONTWAIT);
    char control[64];
    struct iovec iov = {buf, size};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
    kernel_now = 0;
    if (n > 0)
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
                struct timespec t;
                memcpy(&t, CMSG_DATA(c), sizeof t);
                kernel_now = t.tv_sec * 1000000000LL + t.tv_nsec + to_monotonic;
            }
    return n;
}

static int cmp(const void *a, const void *b) { int64_t x = *(int64_t *)a, y = *(int64_t *)b; return x < y ? -1 : x > y; }

int main(int argc, char **argv) {
    for (int o; (o = getopt(argc, argv, "p:c:n:d:kT")) != -1;) switch (o) {
        case 'p': port = atoi(optarg); break; case 'c': conns = atoi(optarg); break;
        case 'n': ntok = atoi(optarg); break; case 'd': dur = atof(optarg); break; case 'k': keep = true; break; case 'T': stamps = true; break;
    }
    struct rlimit rl; getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl);
    char body[256];
    int bl = snprintf(body, sizeof body, "{\"model\":\"m\",\"stream\":true,\"max_tokens\":%d,\"messages\":[]}", ntok);
    req_len = snprintf(req, sizeof req, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", bl, body);
    int ep = epoll_create1(0), one = 1, live = 0;
    struct conn *cs = calloc(conns, sizeof *cs);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < conns; i++) {
        struct conn *c = &cs[i];
        c->ev = malloc(65536);
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(c->fd, (void *)&a, sizeof a)) { perror("connect"); return 1; }
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (stamps) setsockopt(c->fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
    }
    static char buf[1 << 18];
    if (stamps) to_monotonic = offset_now();
    struct epoll_event ev[512];
    struct rusage r0, r1; getrusage(RUSAGE_SELF, &r0);
    int64_t t0 = now_ns(), stop = t0 + dur * 1e9;
    for (int i = 0; i < conns; i++) { if (send(cs[i].fd, req, req_len, 0) != req_len) return 1; live++; }
    while (live) {
        int n = epoll_wait(ep, ev, 512, 2000);
        if (n == 0) break;
        for (int i = 0; i < n; i++) {
            struct conn *c = ev[i].data.ptr;
            ssize_t k = receive(c->fd, buf, sizeof buf);
            int64_t ts = now_ns();
            if (k <= 0) { if (k < 0 && errno == EAGAIN) continue; epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL); live--; continue; }
            reads_++; bytes_ += k;
            feed(c, buf, k, ts);
            if (c->done) {
                c->done = false;
                if (keep && ts < stop) { if (send(c->fd, req, req_len, 0) != req_len) return 1; } else { live--; }
            }
        }
    }
    int64_t t1 = now_ns(); getrusage(RUSAGE_SELF, &r1);
    double s = (t1 - t0) / 1e9, cpu = (r1.ru_utime.tv_sec - r0.ru_utime.tv_sec) + (r1.ru_stime.tv_sec - r0.ru_stime.tv_sec)
             + (r1.ru_utime.tv_usec - r0.ru_utime.tv_usec + r1.ru_stime.tv_usec - r0.ru_stime.tv_usec) / 1e6;
    int64_t *lag = malloc(sizeof *lag * (nrec + 1)), *kernel = malloc(sizeof *kernel * (nrec + 1)), nk = 0;
    for (size_t i = 0; i < nrec; i++) {
        lag[i] = recs[i].ts - recs[i].sent;
        if (recs[i].kernel) kernel[nk++] = recs[i].kernel - recs[i].sent;
    }
    qsort(lag, nrec, sizeof *lag, cmp);
    qsort(kernel, nk, sizeof *kernel, cmp);
    printf("{\"name\":\"c_reader\",\"conns\":%d,\"tokens\":%llu,\"secs\":%.3f,\"tok_s\":%.0f,\"reads\":%llu,\"tok_per_read\":%.2f,\"finished\":%llu,"
           "\"cpu_s_per_Mtok\":%.3f,\"cpu_frac\":%.2f,\"MBps\":%.0f,\"lag_us\":[%.1f,%.1f,%.1f,%.1f],\"kernel_lag_us\":[%.1f,%.1f,%.1f,%.1f]}\n", conns,
           (unsigned long long)events, s, events / s, (unsigned long long)reads_, (double)events / (reads_ ? reads_ : 1), (unsigned long long)finished,
           events ? cpu / (events / 1e6) : 0, cpu / s, bytes_ / s / 1e6,
           nrec ? lag[nrec / 2] / 1e3 : 0, nrec ? lag[nrec * 99 / 100] / 1e3 : 0, nrec ? lag[nrec * 999 / 1000] / 1e3 : 0, nrec ? lag[nrec - 1] / 1e3 : 0,
           nk ? kernel[nk / 2] / 1e3 : 0, nk ? kernel[nk * 99 / 100] / 1e3 : 0, nk ? kernel[nk * 999 / 1000] / 1e3 : 0, nk ? kernel[nk - 1] / 1e3 : 0);
    return 0;
}
