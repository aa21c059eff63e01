/*
 * sse_server.c - synthetic OpenAI-compatible streaming server for calibrating load clients.
 *
 * Build:  gcc -O2 -Wall -Wextra -o sse_server sse_server.c        (Linux >= 5.11, glibc >= 2.35)
 * Usage:  sse_server [-p port] [-r rate] [-t ttft_ms] [-P arrive|step|spread] [-b K] [-B sep|one]
 *                    [-m ts|word] [-u] [-w W] [-n N] [-M model] [-l log.csv]
 *
 *   -p port     TCP port on 127.0.0.1                                     (default 8100)
 *   -r rate     tokens/s per stream on an absolute schedule; 0 = as fast as the client reads
 *   -t ms       delay from the request's arrival to its first token       (default 0)
 *   -P phase    when a stream's tokens fall: counted from its own arrival (arrive, default); on a
 *               grid common to all streams, as an engine that emits once a step (step); or with
 *               the streams' phases spread evenly over the interval (spread)
 *   -b K        send K tokens every K/rate seconds, in one write           (default 1)
 *   -B sep|one  a burst is K SSE events in one write, or one SSE event holding K tokens' text
 *   -m ts|word  token text: "<send time, 16 digits> " (ts, default), or a 5-byte word that common
 *               BPE vocabularies hold as one token (word; the send time is in system_fingerprint)
 *   -u          every event carries the usage so far, as vLLM's continuous_usage_stats
 *   -w W        tokens per write when rate is 0                            (default 16)
 *   -n N        tokens per request if the body names no limit              (default 128)
 *   -M model    model name reported                                        (default "synthetic")
 *   -l file     CSV, one line per finished stream: seq,arrive_ns,first_ns,last_ns,tokens
 *
 * Routes: POST /v1/chat/completions, /v1/completions (stream or not); GET /v1/models, /health,
 *         /metrics, /stats (JSON truth since the last reset), /reset.
 *
 * Truth.  Every time is CLOCK_MONOTONIC in ns, i.e. Python's time.perf_counter_ns() and
 * time.monotonic_ns() on Linux, read just before the send() that carries the token.  A client on
 * the same host therefore has   timestamp error = its timestamp - the embedded one.
 * /stats also gives how late sends ran against the schedule (lag), so that a run in which the
 * server itself was starved of CPU can be told apart and thrown away.
 *
 * Wire format (as vLLM's): HTTP/1.1 keep-alive, Transfer-Encoding: chunked, one chunk per SSE
 * event; chat sends a role event first, in the first token's write; the last token's event has
 * finish_reason "length"; then, if stream_options.include_usage, a usage event; then [DONE].
 * A client too slow for the socket buffer is queued for in user space, never slowed down, when
 * rate > 0, and throttles its own stream when rate = 0.
 *
 * Limits: the request body is searched for keys, not parsed as JSON; no TLS, no request chunking;
 * one thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define TS_DIGITS 16
#define MAX_BURST 64
#define EVENT_MAX (1024 + MAX_BURST * (TS_DIGITS + 1))
#define LAG_BINS 256

static struct {
    int port, burst, per_write, default_n;
    bool one_event, word, usage_each;
    enum { ARRIVE, STEP, SPREAD } phase;
    double rate;
    int64_t ttft;
    const char *model, *log;
} opt = {.port = 8100, .burst = 1, .per_write = 16, .default_n = 128, .model = "synthetic"};

static struct {
    uint64_t requests, finished, tokens, writes, eagain, prompt_tokens;
    int64_t first, last;
    uint64_t lag[LAG_BINS]; /* quarter-octave bins of lateness in us */
    int64_t lag_max;
    int streams, peak;
} stats;

/* One SSE event preformatted as an HTTP chunk, with the places to patch for each token. */
struct tmpl {
    char buf[EVENT_MAX];
    int len, ntok, at[MAX_BURST], fp_at;
};

struct conn {
    int fd, heap_at;
    char *in, *out;
    size_t in_len, in_cap, out_off, out_len, out_cap;
    bool want_out, close_after, streaming, stream_req, chat, usage, queued, dead;
    int n_total, n_sent, prompt_tokens;
    uint64_t seq;
    int64_t arrive, start, due, first;
    struct conn *next_ready;
    struct tmpl t;
};

static const char WORDS[8][6] = {" time", " with", " from", " have", " this", " will", " your", " more"};
static int ep;
static uint64_t seq_no;
static FILE *logf_;
static volatile sig_atomic_t stop;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS + t.tv_nsec;
}

static void *xrealloc(void *p, size_t n) {
    p = realloc(p, n);
    if (!p) { perror("realloc"); exit(1); }
    return p;
}

/* ---- min-heap of paced streams, keyed on the next due time ---- */
static struct conn **heap;
static int heap_n, heap_cap;

static void heap_set(int i, struct conn *c) { heap[i] = c; c->heap_at = i; }

static void heap_fix(int i) {
    struct conn *c = heap[i];
    while (i > 0 && heap[(i - 1) / 2]->due > c->due) { heap_set(i, heap[(i - 1) / 2]); i = (i - 1) / 2; }
    for (;;) {
        int k = 2 * i + 1;
        if (k >= heap_n) break;
        if (k + 1 < heap_n && heap[k + 1]->due < heap[k]->due) k++;
        if (heap[k]->due >= c->due) break;
        heap_set(i, heap[k]);
        i = k;
    }
    heap_set(i, c);
}

static void heap_push(struct conn *c) {
    if (heap_n == heap_cap) heap = xrealloc(heap, sizeof *heap * (heap_cap = heap_cap ? 2 * heap_cap : 256));
    heap_set(heap_n++, c);
    heap_fix(c->heap_at);
}

static void heap_remove(struct conn *c) {
    int i = c->heap_at;
    if (i < 0) return;
    c->heap_at = -1;
    if (i != --heap_n) { heap_set(i, heap[heap_n]); heap_fix(i); }
}

/* ---- FIFO of unpaced streams that can write now (rate 0) ---- */
static struct conn *ready_head, **ready_tail = &ready_head;

static void ready_push(struct conn *c) {
    if (c->queued) return;
    c->queued = true;
    c->next_ready = NULL;
    *ready_tail = c;
    ready_tail = &c->next_ready;
}

static struct conn *ready_pop(void) {
    struct conn *c = ready_head;
    if (!c) return NULL;
    ready_head = c->next_ready;
    if (!ready_head) ready_tail = &ready_head;
    c->queued = false;
    return c;
}

/* ---- output ---- */
static char *out_reserve(struct conn *c, size_t n) {
    if (c->out_off == c->out_len) c->out_off = c->out_len = 0;
    if (c->out_len + n > c->out_cap) c->out = xrealloc(c->out, c->out_cap = 2 * (c->out_len + n));
    return c->out + c->out_len;
}

static void out_printf(struct conn *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = out_reserve(c, n + 1);
    va_start(ap, fmt);
    vsnprintf(p, n + 1, fmt, ap);
    va_end(ap);
    c->out_len += n;
}

static void put_digits(char *p, int64_t v) {
    for (int i = TS_DIGITS - 1; i >= 0; i--) { p[i] = '0' + v % 10; v /= 10; }
}

/* Format one event of ntok tokens; "finish" marks the last.  Times and words are patched later. */
static void tmpl_build(struct conn *c, struct tmpl *t, int ntok, bool finish) {
    char text[MAX_BURST * (TS_DIGITS + 1) + 1], body[EVENT_MAX - 32], fp[64] = "";
    int w = opt.word ? 5 : TS_DIGITS + 1, n = ntok * w;
    memset(text, '#', n);
    text[n] = 0;
    if (opt.word) snprintf(fp, sizeof fp, "\"system_fingerprint\":\"%0*d\",", TS_DIGITS, 0);
    const char *reason = finish ? "\"length\"" : "null";
    char usage[128] = "";
    if (opt.usage_each)
        snprintf(usage, sizeof usage, ",\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}",
                 c->prompt_tokens, c->prompt_tokens + c->n_sent + ntok, c->n_sent + ntok);
    int len;
    if (c->chat)
        len = snprintf(body, sizeof body,
            "data: {\"id\":\"chatcmpl-%024llx\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
            "\"model\":\"%s\",%s\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,"
            "\"finish_reason\":%s}]%s}\n\n", (unsigned long long)c->seq, opt.model, fp, text, reason, usage);
    else
        len = snprintf(body, sizeof body,
            "data: {\"id\":\"cmpl-%024llx\",\"object\":\"text_completion\",\"created\":1700000000,"
            "\"model\":\"%s\",%s\"choices\":[{\"index\":0,\"text\":\"%s\",\"logprobs\":null,"
            "\"finish_reason\":%s,\"stop_reason\":null}]%s}\n\n",
            (unsigned long long)c->seq, opt.model, fp, text, reason, usage);
    t->len = snprintf(t->buf, sizeof t->buf, "%x\r\n%s\r\n", len, body);
    t->ntok = ntok;
    char *p = strstr(t->buf, text);
    for (int i = 0; i < ntok; i++) t->at[i] = p - t->buf + i * w;
    p = opt.word ? strstr(t->buf, "fingerprint\":\"") : NULL;
    t->fp_at = p ? p + 14 - t->buf : -1;
}

static void put_event(struct conn *c, const struct tmpl *t, int64_t now) {
    char *p = out_reserve(c, t->len);
    memcpy(p, t->buf, t->len);
    for (int i = 0; i < t->ntok; i++) {
        if (opt.word) memcpy(p + t->at[i], WORDS[(c->n_sent + i) & 7], 5);
        else { put_digits(p + t->at[i], now); p[t->at[i] + TS_DIGITS] = ' '; }
    }
    if (t->fp_at >= 0) put_digits(p + t->fp_at, now);
    c->out_len += t->len;
    c->n_sent += t->ntok;
}

static void put_chunk(struct conn *c, const char *body) {
    out_printf(c, "%zx\r\n%s\r\n", strlen(body), body);
}

static void put_tail(struct conn *c) {
    if (c->usage) {
        char b[512];
        snprintf(b, sizeof b,
            "data: {\"id\":\"%s-%024llx\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[],"
            "\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,\"completion_tokens\":%d}}\n\n",
            c->chat ? "chatcmpl" : "cmpl", (unsigned long long)c->seq,
            c->chat ? "chat.completion.chunk" : "text_completion", opt.model,
            c->prompt_tokens, c->prompt_tokens + c->n_sent, c->n_sent);
        put_chunk(c, b);
    }
    put_chunk(c, "data: [DONE]\n\n");
    out_printf(c, "0\r\n\r\n");
}

/* Append up to n tokens to the out buffer, and everything that must go with them. */
static void put_tokens(struct conn *c, int n, int64_t now) {
    if (c->n_sent == 0) {
        c->first = now;
        if (c->chat) {
            char b[512];
            snprintf(b, sizeof b,
                "data: {\"id\":\"chatcmpl-%024llx\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
                "\"model\":\"%s\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                "\"logprobs\":null,\"finish_reason\":null}]}\n\n", (unsigned long long)c->seq, opt.model);
            put_chunk(c, b);
        }
    }
    int left = c->n_total - c->n_sent;
    if (n > left) n = left;
    stats.tokens += n;
    while (n > 0) {
        int k = opt.one_event ? opt.burst : 1;
        if (k > n) k = n;
        bool finish = c->n_sent + k == c->n_total;
        if (!finish && k == c->t.ntok && !opt.usage_each) put_event(c, &c->t, now);
        else { struct tmpl t; tmpl_build(c, &t, k, finish); put_event(c, &t, now); }
        n -= k;
    }
    if (!stats.first) stats.first = now;
    stats.last = now;
    if (c->n_sent == c->n_total) put_tail(c);
}

/* ---- connection ---- */
static void conn_close(struct conn *c) {
    if (c->dead) return;
    c->dead = true;
    heap_remove(c);
    if (c->streaming) { c->streaming = false; stats.streams--; }
    close(c->fd);
    c->fd = -1;
    free(c->in);
    free(c->out);
    c->in = c->out = NULL;
    if (!c->queued) free(c); /* else freed when popped */
}

static void want_out(struct conn *c, bool on) {
    if (c->want_out == on) return;
    c->want_out = on;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
}

/* Returns false if the connection was closed. */
static bool conn_flush(struct conn *c) {
    while (c->out_off < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
        stats.writes++;
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) { stats.eagain++; want_out(c, true); return true; }
            conn_close(c);
            return false;
        }
        c->out_off += n;
    }
    want_out(c, false);
    if (c->close_after && !c->streaming) { conn_close(c); return false; }
    return true;
}

static bool conn_parse(struct conn *c);

static bool stream_end(struct conn *c) {
    c->streaming = false;
    stats.streams--;
    stats.finished++;
    if (logf_) fprintf(logf_, "%llu,%lld,%lld,%lld,%d\n", (unsigned long long)c->seq, (long long)c->arrive,
                       (long long)c->first, (long long)stats.last, c->n_sent);
    return conn_flush(c) && conn_parse(c);
}

static void lag_record(int64_t ns) {
    if (ns > stats.lag_max) stats.lag_max = ns;
    uint64_t us4 = ns <= 0 ? 0 : ns / 250; /* quarter us */
    int b = 0;
    if (us4 >= 4) { int e = 63 - __builtin_clzll(us4); b = (e << 2) | ((us4 >> (e - 2)) & 3); } else b = us4;
    stats.lag[b < LAG_BINS ? b : LAG_BINS - 1]++;
}

static double lag_quantile(double q) { /* upper edge of the bin, in us */
    uint64_t n = 0, s = 0;
    for (int i = 0; i < LAG_BINS; i++) n += stats.lag[i];
    for (int i = 0; i < LAG_BINS; i++)
        if ((s += stats.lag[i]) > q * n) {
            if (i < 8) return (i + 1) * 0.25;
            return ((4.0 + (i & 3) + 1) * (1ULL << ((i >> 2) - 2))) * 0.25;
        }
    return 0;
}

/* One turn of a paced stream: the tokens due, one write. */
static void stream_paced(struct conn *c, int64_t now) {
    lag_record(now - c->due);
    put_tokens(c, opt.burst, now);
    if (c->n_sent == c->n_total) { heap_remove(c); stream_end(c); return; }
    c->due = c->start + (int64_t)(c->n_sent * (NS / opt.rate));
    heap_fix(c->heap_at);
    if (!c->want_out) conn_flush(c);
}

/* One turn of an unpaced stream. */
static void stream_fast(struct conn *c) {
    int n = opt.burst > opt.per_write ? opt.burst : opt.per_write;
    put_tokens(c, n - n % opt.burst, now_ns());
    if (c->n_sent == c->n_total) { stream_end(c); return; }
    if (conn_flush(c) && !c->want_out) ready_push(c);
}

static void respond(struct conn *c, int code, const char *type, const char *body) {
    out_printf(c, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n%s", code,
               code == 200 ? "OK" : "Not Found", type, strlen(body), c->close_after ? "Connection: close\r\n" : "", body);
}

static void get_stats(char *b, size_t n) {
    double s = (stats.last - stats.first) / 1e9;
    snprintf(b, n,
        "{\"requests\":%llu,\"finished\":%llu,\"tokens\":%llu,\"writes\":%llu,\"eagain\":%llu,\"peak_streams\":%d,"
        "\"first_ns\":%lld,\"last_ns\":%lld,\"tokens_per_s\":%.1f,"
        "\"lag_us\":{\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"max\":%.1f}}\n",
        (unsigned long long)stats.requests, (unsigned long long)stats.finished, (unsigned long long)stats.tokens,
        (unsigned long long)stats.writes, (unsigned long long)stats.eagain, stats.peak, (long long)stats.first,
        (long long)stats.last, s > 0 ? stats.tokens / s : 0, lag_quantile(.5), lag_quantile(.99),
        lag_quantile(.999), stats.lag_max / 1e3);
}

static void handle_get(struct conn *c, const char *path) {
    char b[2048];
    if (!strcmp(path, "/v1/models")) {
        snprintf(b, sizeof b, "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":1700000000,"
                 "\"owned_by\":\"sse_server\",\"root\":\"%s\",\"max_model_len\":131072}]}", opt.model, opt.model);
        respond(c, 200, "application/json", b);
    } else if (!strcmp(path, "/health")) {
        respond(c, 200, "text/plain", "");
    } else if (!strcmp(path, "/metrics")) {
        snprintf(b, sizeof b,
            "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"%s\"} %d\n"
            "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"%s\"} 0\n"
            "# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{model_name=\"%s\"} %llu\n"
            "# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{model_name=\"%s\"} %llu\n",
            opt.model, stats.streams, opt.model, opt.model, (unsigned long long)stats.prompt_tokens, opt.model,
            (unsigned long long)stats.tokens);
        respond(c, 200, "text/plain; version=0.0.4", b);
    } else if (!strcmp(path, "/stats") || !strcmp(path, "/reset")) {
        if (logf_) fflush(logf_);
        get_stats(b, sizeof b);
        if (path[1] == 'r') { int s = stats.streams; memset(&stats, 0, sizeof stats); stats.streams = s; }
        respond(c, 200, "application/json", b);
    } else {
        respond(c, 404, "application/json", "{\"error\":{\"message\":\"not found\",\"code\":404}}");
    }
}

/* Value after the last  "key" :  in the body, or NULL. */
static const char *json_find(const char *body, size_t len, const char *key) {
    size_t k = strlen(key);
    const char *found = NULL, *end = body + len, *p = body;
    while ((p = memmem(p, end - p, key, k))) {
        p += k;
        const char *q = p;
        while (q < end && (*q == ' ' || *q == '\n' || *q == '\t' || *q == '\r')) q++;
        if (q < end && *q == ':') {
            q++;
            while (q < end && (*q == ' ' || *q == '\n' || *q == '\t' || *q == '\r')) q++;
            found = q;
        }
    }
    return found;
}

static void handle_generate(struct conn *c, const char *body, size_t len, bool chat) {
    const char *v = json_find(body, len, "\"max_completion_tokens\"");
    if (!v || *v == 'n') v = json_find(body, len, "\"max_tokens\"");
    c->n_total = v && *v != 'n' ? atoi(v) : opt.default_n;
    if (c->n_total < 1) c->n_total = 1;
    v = json_find(body, len, "\"stream\"");
    c->stream_req = v && *v == 't';
    v = json_find(body, len, "\"include_usage\"");
    c->usage = v && *v == 't';
    c->chat = chat;
    c->n_sent = 0;
    c->prompt_tokens = len / 6 + 1;
    c->seq = seq_no++;
    c->arrive = now_ns();
    stats.requests++;
    stats.prompt_tokens += c->prompt_tokens;
    if (!c->stream_req) { /* whole answer at once, not delayed */
        size_t cap = 1024 + (size_t)c->n_total * 5, n = 0;
        char *b = xrealloc(NULL, cap), *text = xrealloc(NULL, (size_t)c->n_total * 5 + 1);
        for (int i = 0; i < c->n_total; i++, n += 5) memcpy(text + n, WORDS[i & 7], 5);
        text[n] = 0;
        snprintf(b, cap,
            "{\"id\":\"%s-%024llx\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\",\"choices\":[{\"index\":0,"
            "%s%s%s,\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":%d,\"total_tokens\":%d,"
            "\"completion_tokens\":%d}}",
            chat ? "chatcmpl" : "cmpl", (unsigned long long)c->seq, chat ? "chat.completion" : "text_completion",
            opt.model, chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"text\":\"", text,
            chat ? "\"}" : "\"", c->prompt_tokens, c->prompt_tokens + c->n_total, c->n_total);
        respond(c, 200, "application/json", b);
        stats.tokens += c->n_total;
        free(b);
        free(text);
        return;
    }
    out_printf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                  "Transfer-Encoding: chunked\r\n%s\r\n", c->close_after ? "Connection: close\r\n" : "");
    tmpl_build(c, &c->t, opt.one_event ? opt.burst : 1, false);
    c->streaming = true;
    if (++stats.streams > stats.peak) stats.peak = stats.streams;
    if (opt.rate > 0 || opt.ttft > 0) {
        int64_t gap = opt.rate > 0 ? opt.burst * NS / opt.rate : 0;
        c->start = c->arrive + opt.ttft;
        if (gap && opt.phase == STEP) c->start += gap - c->start % gap;
        if (gap && opt.phase == SPREAD) c->start += (int64_t)(c->seq * 0x9E3779B97F4A7C15ULL >> 32) * gap >> 32;
        c->due = c->start;
        heap_push(c);
    } else {
        ready_push(c);
    }
}

/* Serve the complete requests in the input buffer; false if the connection was closed. */
static bool conn_parse(struct conn *c) {
    while (!c->streaming && c->in_len) {
        char *end = memmem(c->in, c->in_len, "\r\n\r\n", 4);
        if (!end) return true;
        size_t head = end + 4 - c->in, len = 0;
        *end = 0;
        char *h = strcasestr(c->in, "\r\ncontent-length:");
        if (h) len = strtoul(h + 17, NULL, 10);
        if (c->in_len < head + len) {
            *end = '\r';
            h = strcasestr(c->in, "\r\nexpect: 100-continue");
            if (h && h < end && c->in_len == head) { out_printf(c, "HTTP/1.1 100 Continue\r\n\r\n"); return conn_flush(c); }
            return true;
        }
        if (strcasestr(c->in, "\r\nconnection: close")) c->close_after = true;
        char method[8] = "", path[256] = "";
        sscanf(c->in, "%7s %255[^ ?\r]", method, path);
        if (!strcmp(method, "POST") && !strcmp(path, "/v1/chat/completions")) handle_generate(c, c->in + head, len, true);
        else if (!strcmp(method, "POST") && !strcmp(path, "/v1/completions")) handle_generate(c, c->in + head, len, false);
        else handle_get(c, path);
        c->in_len -= head + len;
        memmove(c->in, c->in + head + len, c->in_len);
        if (!c->streaming && !conn_flush(c)) return false;
    }
    return true;
}

static void conn_read(struct conn *c) {
    for (;;) {
        if (c->in_cap - c->in_len < 4096) c->in = xrealloc(c->in, (c->in_cap = 2 * c->in_cap + 8192) + 1);
        ssize_t n = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) { conn_close(c); return; }
        c->in_len += n;
        if ((size_t)n < 4096) break;
    }
    c->in[c->in_len] = 0;
    conn_parse(c);
}

static void on_stop(int s) { (void)s; stop = 1; }

int main(int argc, char **argv) {
    for (int o; (o = getopt(argc, argv, "p:r:t:P:b:B:m:uw:n:M:l:h")) != -1;) switch (o) {
        case 'p': opt.port = atoi(optarg); break;
        case 'r': opt.rate = atof(optarg); break;
        case 't': opt.ttft = atof(optarg) * 1e6; break;
        case 'P': opt.phase = !strcmp(optarg, "step") ? STEP : !strcmp(optarg, "spread") ? SPREAD : ARRIVE; break;
        case 'b': opt.burst = atoi(optarg); break;
        case 'B': opt.one_event = !strcmp(optarg, "one"); break;
        case 'm': opt.word = !strcmp(optarg, "word"); break;
        case 'u': opt.usage_each = true; break;
        case 'w': opt.per_write = atoi(optarg); break;
        case 'n': opt.default_n = atoi(optarg); break;
        case 'M': opt.model = optarg; break;
        case 'l': opt.log = optarg; break;
        default: fprintf(stderr, "usage: see the head of sse_server.c\n"); return 2;
    }
    if (opt.burst < 1 || opt.burst > MAX_BURST || opt.per_write < 1) { fprintf(stderr, "bad -b or -w\n"); return 2; }
    if (opt.rate <= 0) opt.rate = 0;
    if (opt.log && !(logf_ = fopen(opt.log, "w"))) { perror(opt.log); return 1; }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_stop);
    signal(SIGTERM, on_stop);
    prctl(PR_SET_TIMERSLACK, 1UL); /* the default, 50 us, would be added to every sleep */
    struct rlimit rl;
    if (!getrlimit(RLIMIT_NOFILE, &rl)) { rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl); }

    int ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(opt.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(ls, (void *)&a, sizeof a) || listen(ls, 4096)) { perror("bind"); return 1; }
    ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, ev[256];
    epoll_ctl(ep, EPOLL_CTL_ADD, ls, &e);
    fprintf(stderr, "sse_server on 127.0.0.1:%d rate=%g burst=%d/%s text=%s\n", opt.port, opt.rate, opt.burst,
            opt.one_event ? "one" : "sep", opt.word ? "word" : "ts");

    while (!stop) {
        struct timespec ts = {0, 0}, *wait = &ts;
        if (!ready_head) {
            if (heap_n) {
                int64_t d = heap[0]->due - now_ns();
                if (d > 0) { ts.tv_sec = d / NS; ts.tv_nsec = d % NS; }
            } else {
                wait = NULL;
            }
        }
        int n = epoll_pwait2(ep, ev, 256, wait, NULL);
        for (int i = 0; i < n; i++) {
            struct conn *c = ev[i].data.ptr;
            if (!c) {
                int fd;
                while ((fd = accept4(ls, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    c = calloc(1, sizeof *c);
                    if (!c) { close(fd); break; }
                    c->fd = fd;
                    c->heap_at = -1;
                    e = (struct epoll_event){.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};
                    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                }
                continue;
            }
            if (ev[i].events & (EPOLLERR | EPOLLHUP)) { conn_close(c); continue; }
            if (ev[i].events & EPOLLOUT) {
                if (!conn_flush(c)) continue;
                if (!c->want_out && c->streaming && c->heap_at < 0) ready_push(c);
            }
            if (ev[i].events & (EPOLLIN | EPOLLRDHUP)) conn_read(c);
        }
        /* Bounded work between polls, so that reads and accepts are not starved. */
        if (heap_n) {
            int64_t now = now_ns();
            for (int k = 0; k < 128 && heap_n && heap[0]->due <= now; k++, now = now_ns()) {
                if (opt.rate > 0) { stream_paced(heap[0], now); continue; }
                struct conn *c = heap[0]; /* rate 0 after its first-token delay */
                heap_remove(c);
                ready_push(c);
            }
        }
        for (int k = 0; k < 128; k++) {
            struct conn *c = ready_pop();
            if (!c) break;
            if (c->dead) free(c);
            else if (c->streaming) stream_fast(c);
        }
    }
    char b[1024];
    get_stats(b, sizeof b);
    fputs(b, stderr);
    if (logf_) fclose(logf_);
    return 0;
}
