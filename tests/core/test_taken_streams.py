"""What is found quickly is what is found slowly: the end of a stream by its tail, and events by their pattern."""

import json
import random

import pytest

from auditor.core.adapter import openai_shape
from auditor.core.counting.evidence import Exchange, Read, read_response
from auditor.core.counting.exchange import Counted
from auditor.core.counting.ledger import ExchangeLedger, Times
from auditor.core.counting.reading import StreamTaker, read_stream
from auditor.core.counting.tally import Identity, Tally
from auditor.core.counting.tokenlog import to_jsonl, token_lines, token_log
from auditor.core.wire.http1 import ResponseReader, TailReader
from auditor.terms import Outcome

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TEXTS = [
    "one ",
    "two ",
    "",
    "ümlaut ",
    'a "quote" ',
    "back\\slash ",
    "\u2603",
    "line\n",
    *(f"w{n} " for n in range(300)),
    "x" * 40,
]
ENDS = [b"0\r\n\r\n", b"0000\r\n\r\n", b"0;note=1\r\n\r\n", b"0\r\nServer-Timing: t;dur=3\r\nX-Sum: 1\r\n\r\n"]


def event(text: str, seed: int) -> bytes:
    body = json.dumps(
        {"id": f"c{seed}", "choices": [{"index": 0, "delta": {"content": text}}]}, ensure_ascii=seed % 2 == 0
    )
    return f"data: {body}\n\n".encode()


def body_of(seed: int) -> bytes:
    events = [event(text, seed) for text in TEXTS]
    events += [
        b": keep-alive\n\n",
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    return b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in events)


def cut(data: bytes, seed: int) -> list[bytes]:
    rng, pieces, at = random.Random(seed), [], 0
    while at < len(data):
        size = rng.choice([1, 3, 64, 700, 20_000])
        pieces.append(data[at : at + size])
        at += size
    return pieces


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("end", ENDS)
def test_the_tail_tells_the_end_where_the_framing_does(end: bytes, seed: int) -> None:
    reader, tail = ResponseReader(), TailReader()
    for piece in cut(HEAD + body_of(seed) + end, seed):
        reader.feed(piece)
        assert tail.feed(piece) == reader.complete
    assert reader.complete


@pytest.mark.parametrize("seed", range(8))
def test_a_stream_is_the_same_taken_by_patterns_and_event_by_event(seed: int) -> None:
    reads = [Read(10 * at, None, piece) for at, piece in enumerate(cut(HEAD + body_of(seed) + ENDS[0], seed))]
    taker = StreamTaker("POST", lambda event: None, event_is_step=False)
    for read in reads:
        taker.take(read.arrival_ns, read.data)
    taker.end("complete")
    response, quick = taker.result()
    whole = read_response(Exchange(1, {}, reads=reads, how="complete"))
    slow = read_stream(whole, lambda event: None, event_is_step=False, shape=openai_shape)
    assert list(quick.deliveries) == list(slow.deliveries)
    assert [one.text for one in quick.deliveries] == [text for text in TEXTS if text]
    assert (quick.finish_reason, quick.is_done, quick.unreadable) == ("stop", True, 0)
    assert (response.whole, response.unfinished_event) == (whole.whole, whole.unfinished_event) == (True, False)


@pytest.mark.parametrize("send_ns", [None, 5])
@pytest.mark.parametrize("texts", [["one ", "zwölf ", "\u2603", "\x7f"], ["one ", "line\n"]], ids=["plain", "escaped"])
def test_a_token_log_is_the_same_in_columns_and_line_by_line(texts: list[str], send_ns: int | None) -> None:
    taker = StreamTaker("POST", lambda event: None, event_is_step=False)
    for at, piece in enumerate(
        [HEAD, *(b"%x\r\n%b\r\n" % (len(one), one) for one in (event(text, 2) for text in texts))]
    ):
        taker.take(1000 * at, piece)
    taker.end("eof")
    identity = Identity(outcome=Outcome.NOT_AVAILABLE, sentence="")
    line = ExchangeLedger(exchange=7, cell='a "cell"', repeat=1, index=0, prompt="p", kind="prose", status="partial",
                          tally=Tally(), identity=identity, times=Times(send_ns=send_ns))  # fmt: skip
    counted = [Counted(line, taker.result()[1], Exchange(7, {}))]
    written = b"".join(token_log(counted))
    assert written == to_jsonl(token_lines(counted))
    assert written.count(b"\n") == len(texts)
