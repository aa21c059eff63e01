"""Single requests in words for people, waits that a server asks for, and a log that loses nothing on the way to disk."""

import asyncio
from email.utils import formatdate
from time import time

import pytest
from rawserver import Peer, plain, raw_server

from auditor.capture.sending import MAX_ATTEMPTS, Reply, error_words, patiently, send
from auditor.capture.stream import Flight
from auditor.capture.wirelog import WireWriter
from auditor.core.wire.log import Kind, read_wire
from auditor.errors import AuditError


def ask(reply: bytes, capture) -> Reply:
    """What becomes of this answer."""

    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(reply)

    with raw_server(answer) as server:
        return capture(server.url, lambda c: send(c.client, f"{c.url}/x", {}, Flight({"purpose": "measure"}))).result


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("7", 7, 7), (+600, 500, 600), (-600, 0, 0)],
    ids=["seconds", "a date to come", "a date gone by"],
)
def test_how_long_a_server_asks_to_wait(value, least, most, capture):
    if isinstance(value, int):
        value = formatdate(time() + value, usegmt=True)
    reply = ask(plain(b"", "429 Too Many Requests", Retry_After=value), capture)
    assert (reply.status, reply.problem) == (429, "HTTP 429")
    assert least <= reply.wait_s <= most


@pytest.mark.parametrize("value", ["", "soon", "-1", "\xb2", "1e9"])
def test_a_wait_that_says_nothing(value, capture):
    assert (
        ask(
            plain(b"", "503 Service Unavailable").replace(
                b"\r\n\r\n", b"\r\nRetry-After: %s\r\n\r\n" % value.encode("latin-1")
            ),
            capture,
        ).wait_s
        is None
    )


@pytest.mark.parametrize(
    ("statuses", "wait_s", "asked"),
    [
        ([429, 429, 200], 0.0, 3),
        ([500, 200], 0.0, 1),
        ([503] * 9, 0.0, MAX_ATTEMPTS),
        ([429] * 9, 3600.0, 1),
        ([None, 200], 0.0, 1),
    ],
    ids=["put off twice", "500", "for ever", "too long", "broken"],
)
def test_patience(statuses, wait_s, asked):
    attempts = []

    async def once(attempt: int) -> Reply:
        attempts.append(attempt)
        return Reply(statuses[attempt], None, wait_s=wait_s)

    assert asyncio.run(patiently(once)).status == statuses[asked - 1]
    assert attempts == list(range(asked))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"no  such\\nmodel","code":404}}', "no such model"),
        (b'{"error":"loading"}', "loading"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"object":"error","message":"too long"}', "too long"),
        (b'["a"]', "['a']"),
        (b"<html>\n<b>502</b>", "a page of HTML"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", None),
        (b'{"error":{"message":""}}', None),
    ],
)
def test_the_words_of_a_refusal(body, words):
    assert error_words(body) == words


def test_a_broken_compression_is_said(capture):
    reply = ask(plain(b"no gzip", "500 Internal Server Error", Content_Encoding="gzip"), capture)
    assert "compressed" in reply.problem


def test_remedies_are_at_hand():
    assert str(Reply(302, "HTTP 302").as_error("u", "refused")) == "u: refused: HTTP 302; give the address it leads to"


# the log


def test_records_arrive_in_order_whatever_becomes_of_the_writing(tmp_path):
    async def go() -> None:
        log = WireWriter(tmp_path / "wire.zst")
        for number in range(400):
            log.add(Kind.READ, 1, number, b"x" * 100)
            if number % 7 == 0:
                task = asyncio.create_task(log.flush())
                await asyncio.sleep(0)
                if number % 2:
                    task.cancel()
        await log.close()

    asyncio.run(go())
    log = read_wire(tmp_path / "wire.zst")
    assert log.damage is None
    assert [record.t_ns for record in log.records if record.kind is Kind.READ] == list(range(400))


def test_a_log_that_exists_is_not_written_over(tmp_path):
    (tmp_path / "wire.zst").write_bytes(b"mine")
    with pytest.raises(AuditError, match=r"wire\.zst: the wire log cannot be written \(File exists\)"):
        WireWriter(tmp_path / "wire.zst")
    assert (tmp_path / "wire.zst").read_bytes() == b"mine"
