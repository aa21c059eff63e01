"""The wire log against what a raw server saw: every byte sent and received, however it was cut."""

import asyncio
import random
import re

import httpx
import pytest
from rawserver import LAST_CHUNK, STREAM_HEAD, Peer, chunked, delta, event, head, last, plain, raw_server

from auditor.core.counting.evidence import read_response
from auditor.core.wire.log import Kind

ANSWER = b"".join(
    [STREAM_HEAD, *chunked(*(event(delta(f"wörd{i} ")) for i in range(40)), event(last(tokens=40)), event(b"[DONE]"))]
)


def cut(data: bytes, seed: int) -> list[bytes]:
    """The data in pieces of random lengths."""
    rng, pieces, at = random.Random(seed), [], 0
    while at < len(data):
        size = rng.choice([1, 2, 7, 100, 1000])
        pieces.append(data[at : at + size])
        at += size
    return pieces


@pytest.mark.parametrize("seed", range(3))
def test_every_byte_of_a_stream_is_in_the_log(seed, capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(*cut(ANSWER + LAST_CHUNK, seed))

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post({"prompt": "hällo"}))
        (peer,) = server.peers
        (exchange,) = found.evidence.exchanges
        assert b"".join(read.data for read in exchange.reads) == bytes(peer.sent)
        assert exchange.request == bytes(peer.received)
        assert (exchange.how, found.log.damage) == ("complete", None)
    response = read_response(exchange)
    assert response.whole
    assert len(response.arrivals) == 42
    assert found.result.content == b"", "an event stream goes to the log alone"


def test_a_stream_that_was_asked_for_is_handed_out_too(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(ANSWER, LAST_CHUNK)

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post(keep=True))
    assert found.result.content.count(b"data:") == 42


@pytest.mark.parametrize(
    ("pieces", "how"),
    [
        ([plain(b'{"a":1}')], "complete"),
        ([plain(b""), b""], "complete"),
        ([head(Content_Type="application/json", Connection="close"), b'{"a"', b":1}"], "eof"),
        ([head("100 Continue"), plain(b'{"a":1}')], "complete"),
        ([head("103 Early Hints", Link="</x>"), head("102 Processing"), plain(b'{"a":1}')], "complete"),
        ([head(Transfer_Encoding="chunked"), *chunked(b'{"a":1}'), b"0\r\nx-sum: 7\r\ny: z\r\n\r\n"], "complete"),
        ([head(Transfer_Encoding="chunked"), b'7;x="y"\r\n{"a":1}\r\n', LAST_CHUNK], "complete"),
        ([head("204 No Content")], "complete"),
    ],
    ids=["length", "empty", "until-close", "100-continue", "early hints", "trailers", "chunk extension", "204"],
)
def test_other_framings(pieces, how, capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(*pieces, pause_s=0.002)

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post())
        (exchange,) = found.evidence.exchanges
        assert b"".join(read.data for read in exchange.reads) == bytes(server.peers[0].sent)
    assert exchange.how == how
    assert read_response(exchange).whole
    assert found.result.content in (b'{"a":1}', b"")


def test_a_connection_is_used_again(capture):
    async def answer(peer: Peer) -> None:
        while await peer.asked():
            await peer.send(plain(b"{}"))

    async def three(c):
        for _ in range(3):
            await c.post()

    with raw_server(answer) as server:
        found = capture(server.url, three)
        assert len(server.peers) == 1
    assert [exchange.meta["reused"] for exchange in found.evidence.exchanges] == [False, True, True]


def test_connections_opened_ahead_are_the_ones_used(capture):
    async def answer(peer: Peer) -> None:
        while await peer.asked():
            await peer.send(plain(b"{}"))

    async def ahead(c):
        await c.transport.open_ahead(httpx.URL(c.url), 2)
        await asyncio.gather(c.post(), c.post())

    with raw_server(answer) as server:
        found = capture(server.url, ahead)
        assert len(server.peers) == 2
    assert all(exchange.connect_ns - exchange.meta["start_ns"] < 10**7 for exchange in found.evidence.exchanges)


def test_a_server_that_closes_idle_connections_at_once(capture):
    async def answer(peer: Peer) -> None:
        if await peer.asked():
            await peer.send(plain(b"{}"))

    async def three(c):
        return [(await c.post()).status_code for _ in range(3)]

    with raw_server(answer) as server:
        found = capture(server.url, three)
    assert found.result == [200, 200, 200]
    done = [exchange for exchange in found.evidence.exchanges if read_response(exchange).whole]
    assert len(done) == 3
    assert {exchange.how for exchange in found.evidence.exchanges if exchange not in done} <= {"eof", "reset"}


def test_connections_that_the_server_closed_ahead(capture):
    async def answer(peer: Peer) -> None:
        if len(peer.server.peers) > 2 and await peer.asked():
            await peer.send(plain(b"{}"))

    async def ahead(c):
        await c.transport.open_ahead(httpx.URL(c.url), 2)
        return (await c.post()).status_code

    with raw_server(answer) as server:
        assert capture(server.url, ahead).result == 200


def test_the_kernel_s_time_is_true(capture):
    """Not before the server wrote, and not after the client read, within the error of the clocks."""

    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(STREAM_HEAD)
        for index in range(30):
            await peer.send(*chunked(event(delta(str(index)))), pause_s=0.002)
        await peer.send(LAST_CHUNK)

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post())
        writes = server.peers[0].writes
    (exchange,) = found.evidence.exchanges
    stamped = [read for read in exchange.reads if read.kernel_ns is not None]
    if not stamped:
        pytest.skip("this system stamps no reads")
    assert stamped == exchange.reads[-len(stamped) :], "the kernel may begin late, and then goes on"
    error = found.evidence.clock_error_ns
    assert error is not None
    assert error < 10**6
    clocks = [record for record in found.log.records if record.kind is Kind.CLOCK]
    raw = [record for record in found.log.records if record.kind is Kind.READ and record.kernel_ns]
    for record in raw:
        offset = clocks[0].kernel_ns - clocks[0].t_ns
        assert record.kernel_ns - offset <= record.t_ns + 2 * error, "later than the client's own time"
    position = 0
    for read in exchange.reads:
        position += len(read.data)
        sent, began = 0, None
        for before, _, piece in writes:
            sent += len(piece)
            if sent >= position:
                began = before
                break
        assert began is not None
        assert read.arrival_ns >= began - 2 * error, "before it was sent"
        assert read.arrival_ns <= read.t_ns


def test_the_moments_of_an_exchange_are_in_order(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(plain(b"{}"))

    with raw_server(answer) as server:
        (exchange,) = capture(server.url, lambda c: c.post()).evidence.exchanges
    moments = [exchange.open_ns, exchange.connect_ns, exchange.send_ns, exchange.sent_ns, exchange.reads[0].t_ns]
    assert None not in [*moments, exchange.close_ns]
    assert moments == sorted(moments)
    assert exchange.close_ns >= exchange.reads[-1].t_ns


def test_ipv6(capture):
    async def answer(peer: Peer) -> None:
        asked = await peer.asked()
        await peer.send(plain(asked.headers["host"].encode()))

    try:
        with raw_server(answer, host="::1") as server:
            found = capture(server.url, lambda c: c.post())
            assert re.fullmatch(rb"\[::1\]:\d+", found.result.content)
    except OSError:
        pytest.skip("this machine has no IPv6")


# TLS


async def _twice(peer: Peer) -> None:
    while await peer.asked():
        await peer.send(*cut(ANSWER + LAST_CHUNK, 1))


def test_tls_with_a_certificate_that_is_trusted(certificate, capture, monkeypatch):
    file, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    async def two(c):
        await c.transport.open_ahead(httpx.URL(c.url), 1)
        return [(await c.post()).status_code for _ in range(2)]

    with raw_server(_twice, context=context) as server:
        found = capture(server.url, two)
        assert len(server.peers) == 1, "session tickets do not make a connection stale"
        sent = bytes(server.peers[0].sent)
    assert found.result == [200, 200]
    exchanges = found.evidence.exchanges
    assert b"".join(read.data for exchange in exchanges for read in exchange.reads) == sent
    stamps = [read.kernel_ns for exchange in exchanges for read in exchange.reads]
    assert stamps[-1] is not None or not any(stamps), "the reads of TLS are stamped too"
    assert exchanges[0].meta["tls"] is True


def test_tls_with_a_certificate_that_is_not(certificate, capture, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with (
        raw_server(_twice, context=certificate[1]) as server,
        pytest.raises(httpx.ConnectError, match="TLS: self-signed certificate"),
    ):
        capture(server.url, lambda c: c.post())


def test_tls_for_another_name(certificate, capture, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with raw_server(_twice, context=certificate[1]) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(httpx.ConnectError, match=r"TLS: .*ostname mismatch"):
            capture(url, lambda c: c.post())


def test_tls_where_there_is_none(capture):
    async def answer(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with raw_server(answer) as server, pytest.raises(httpx.ConnectError, match="TLS: "):
        capture(server.url.replace("http:", "https:"), lambda c: c.post())


# what breaks


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([], "closed without an answer"),
        ([b"HTTP/1.1 200 OK\r\nConte"], "closed without an answer"),
        ([b"220 mail ESMTP\r\n\r\n"], "not with an HTTP/1.1 status line"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n"], "Content-Length is"),
        ([STREAM_HEAD, b"zz\r\n"], "not a chunk size"),
        ([STREAM_HEAD, *chunked(event(delta("a")))], "closed before the response was complete"),
        ([head(Content_Length="10"), b"123"], "closed before the response was complete"),
        ([b"HTTP/1.1 200 OK\r\nx: " + b"y" * (1 << 19)], "response head does not end"),
    ],
    ids=["nothing", "half a head", "mail", "superscript", "chunk size", "half a stream", "half a body", "long head"],
)
def test_what_a_server_sends_that_is_not_whole(pieces, words, capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(*pieces)

    async def post(c):
        with pytest.raises(httpx.RemoteProtocolError, match=words):
            await c.post()

    with raw_server(answer) as server:
        found = capture(server.url, post)
    (exchange,) = found.evidence.exchanges
    assert exchange.how in ("eof", "error", "reset")
    if len(b"".join(pieces)) < 1000:
        assert b"".join(read.data for read in exchange.reads) == b"".join(pieces)


def test_a_reset_is_told_apart(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(STREAM_HEAD, *chunked(event(delta("a"))), pause_s=0.02)
        peer.reset()

    async def post(c):
        with pytest.raises(httpx.RemoteProtocolError, match="reset"):
            await c.post()

    with raw_server(answer) as server:
        (exchange,) = capture(server.url, post).evidence.exchanges
    assert exchange.how == "reset"


@pytest.mark.parametrize(
    ("pieces", "limits"),
    [
        ([], {"first_token_ns": 10**8}),
        ([b"HTTP/1.1 200 O"], {"stall_ns": 10**8}),
        ([STREAM_HEAD + b"".join(chunked(event(delta("a")), event(delta("b"))))], {"stall_ns": 10**8}),
        ([STREAM_HEAD], {"first_token_ns": 10**8}),
        ([head(Content_Length="10"), b"123"], {"stall_ns": 10**8}),
    ],
    ids=["no answer", "half a head", "events in one read with the head", "no event", "half a body"],
)
def test_silence_ends_an_answer(pieces, limits, capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(*pieces)
        await peer.gone()

    async def post(c):
        with pytest.raises(httpx.ReadTimeout, match=r"silent for 0\.1 s"):
            await c.post(**limits)

    with raw_server(answer) as server:
        (exchange,) = capture(server.url, post).evidence.exchanges
    assert (exchange.how, exchange.words) == ("timeout", "the server was silent for 0.1 s")


def test_comments_that_keep_a_connection_alive_are_no_sign_of_life(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(STREAM_HEAD, *chunked(event(delta("a")), event(delta("b"))))
        for _ in range(1000):
            await peer.send(*chunked(b": ping\n\n"), pause_s=0.01)

    async def post(c):
        with pytest.raises(httpx.ReadTimeout, match=r"silent for 0\.1 s"):
            await c.post(stall_ns=10**8)

    with raw_server(answer) as server:
        capture(server.url, post)


def test_an_answer_without_end_is_cut(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(STREAM_HEAD)
        while True:
            await peer.send(*chunked(b"data: " + b"x" * 100_000))

    async def post(c):
        with pytest.raises(httpx.RemoteProtocolError, match="more than 2 MiB came for one answer"):
            await c.post(limit_bytes=2 << 20)

    with raw_server(answer) as server:
        (exchange,) = capture(server.url, post).evidence.exchanges
    assert sum(len(read.data) for read in exchange.reads) < 3 << 20
    assert exchange.how == "error"
