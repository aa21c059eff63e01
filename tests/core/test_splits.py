"""However the bytes of a response are split over socket reads, the same events come out, and the same body."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.core.counting.evidence import Exchange, Read, read_response
from auditor.core.wire import sse
from auditor.core.wire.http1 import FramingError, ResponseReader
from auditor.core.wire.sse import EventReader

LINE_ENDS = ("\n", "\r\n", "\r")
# Characters that other tools take for the end of a line, and halves of multi-byte characters when split.
TEXT = st.text(
    st.one_of(
        st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)),
        st.sampled_from("\u2028\u2029\x85\x0b\x0c\x1c🦄é"),
    ),
    max_size=12,
)
EVENTS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.booleans(), st.sampled_from(LINE_ENDS)), max_size=6
)


def spelled(events: list[tuple[list[str], bool, str]]) -> bytes:
    """The events as a server might write them: with or without the space, comments and fields nobody asked for."""
    out = ""
    for lines, is_plain, end in events:
        out += "" if is_plain else f": still there{end}id: 7{end}retry: 10{end}event: token{end}"
        out += "".join(f"data: {line}{end}" for line in lines) + end
    return out.encode()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces, cut at these places."""
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(ends)]


def read(pieces: list[bytes]) -> tuple[list[tuple[str, bytes]], int, bool]:
    reader = EventReader()
    events = [(event.name, event.data) for piece in pieces for event in reader.feed(piece)]
    return events, reader.oversized, reader.unfinished


@given(EVENTS, st.lists(st.integers(0, 10_000), max_size=30))
def test_any_split_gives_the_events_that_were_sent(
    events: list[tuple[list[str], bool, str]], places: list[int]
) -> None:
    sent = [("" if is_plain else "token", "\n".join(lines).encode()) for lines, is_plain, _ in events]
    assert read(cut(spelled(events), places)) == (sent, 0, False)


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=30))
@example(b"data: a\r", [8])
@example(b"\r\n\r\ndata", [1, 2, 3])
def test_any_split_of_any_bytes_gives_the_same(data: bytes, places: list[int]) -> None:
    assert read(cut(data, places)) == read([data])


@given(st.lists(st.integers(0, 60), max_size=8), st.lists(st.integers(0, 10_000), max_size=30))
def test_the_limit_of_an_event_does_not_hang_on_the_split(lengths: list[int], places: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "MAX_EVENT", 40)
        data = (
            b"".join(b"data: " + b"x" * length + b"\n\n" for length in lengths) + b": " + b"y" * 90 + b"\ndata: end\n\n"
        )
        events, oversized, _ = read(cut(data, places))
        short = [b"x" * length for length in lengths if length + len("data: ") <= 40]
        assert [event for _, event in events] == [*short, b"end"]
        assert oversized == len(lengths) - len(short)


def test_an_event_without_its_empty_line_is_unfinished() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n") == []
    assert reader.unfinished
    assert [event.data for event in reader.feed(b"\n")] == [b"a"]
    assert not reader.unfinished


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def framed(body: bytes, how: str, sizes: list[int]) -> bytes:
    """The body as one response."""
    if how == "length":
        return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    if how == "close":
        return HEAD + b"Connection: close\r\n\r\n" + body
    out = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    at = 0
    for size in [*sizes, len(body)]:
        if piece := body[at : at + size]:
            out += b"%x;name=value\r\n" % len(piece) + piece + b"\r\n"
            at += len(piece)
    return out + b"0\r\nX-Trailer: yes\r\n\r\n"


@given(
    EVENTS,
    st.sampled_from(["chunked", "length", "close"]),
    st.lists(st.integers(1, 20), max_size=20),
    st.lists(st.integers(0, 10_000), max_size=40),
)
def test_any_split_of_a_framed_stream_gives_the_same_events_at_the_read_that_ends_them(
    events: list[tuple[list[str], bool, str]], how: str, sizes: list[int], places: list[int]
) -> None:
    data = framed(spelled(events), how, sizes)
    pieces = cut(data, places)
    exchange = Exchange(1, {}, reads=[Read(at, None, piece) for at, piece in enumerate(pieces)], how="eof")
    response = read_response(exchange)
    assert [arrival.event.data for arrival in response.arrivals] == [
        "\n".join(lines).encode() for lines, _, _ in events
    ]
    assert response.whole
    assert response.problem is None
    assert all(arrival.at_ns == arrival.read for arrival in response.arrivals)
    # Less would not do: without the read that it names, an event is not whole.
    for index, arrival in enumerate(response.arrivals):
        before = read_response(Exchange(1, {}, reads=exchange.reads[: arrival.read]))
        assert len(before.arrivals) <= index


@given(st.binary(max_size=80), st.lists(st.integers(1, 9), max_size=9), st.lists(st.integers(0, 999), max_size=20))
def test_what_follows_a_response_is_not_its_body(body: bytes, sizes: list[int], places: list[int]) -> None:
    for how in ("chunked", "length"):
        reader = ResponseReader()
        data = framed(body, how, sizes) + b"HTTP/1.1 200"
        assert b"".join(reader.feed(piece) for piece in cut(data, places)) == body
        assert reader.complete
        assert reader.rest == b"HTTP/1.1 200"


@given(st.sampled_from(["chunked", "length"]), st.integers(0, 400))
def test_a_response_that_is_cut_is_not_whole(how: str, place: int) -> None:
    data = framed(b"data: one\n\ndata: two\n\n", how, [5, 5])
    reader = ResponseReader()
    reader.feed(data[: place % len(data)])
    assert not reader.eof()


@given(st.binary(max_size=120), st.lists(st.integers(0, 999), max_size=10))
def test_no_bytes_raise_anything_but_a_framing_error(data: bytes, places: list[int]) -> None:
    for start in (b"", HEAD + b"\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"):
        reader = ResponseReader()
        try:
            for piece in cut(start + data, places):
                reader.feed(piece)
        except FramingError:
            continue


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 2\xb20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\xb2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x10\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\n\r\n",
    ],
)
def test_what_is_no_http_1_1_is_said(data: bytes) -> None:
    with pytest.raises(FramingError):
        ResponseReader().feed(data)


def test_an_interim_answer_is_passed_over() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") == b"ok"
    assert reader.head is not None
    assert reader.head.status == 200
