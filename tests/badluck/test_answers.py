"""One run in which nearly every answer breaks in another way: each is told apart, and what is whole is kept."""

import json
import re

import pytest
from luck import TOKENS, Ran, answer, good, words
from rawserver import LAST_CHUNK, STREAM_HEAD, Asked, Peer, chunked, delta, event, head, last, plain

END = event(last(tokens=TOKENS))
DONE = event(b"[DONE]")
SOME = words(3)
BAD_UTF8 = event(delta("w\u00f6rd")).replace(json.dumps("w\u00f6rd").encode(), b'"w\xf6rd"')


def stream(*pieces: bytes, cut: bool = False):
    """A stream of these bytes; one that is cut lacks the end of its framing."""
    return answer(STREAM_HEAD, *chunked(*pieces), *(() if cut else (LAST_CHUNK,)))


async def stall(peer: Peer, asked: Asked) -> None:
    """Three events, and silence."""
    await peer.send(STREAM_HEAD, *chunked(*SOME))
    await peer.gone()


async def reset(peer: Peer, asked: Asked) -> None:
    """Three events, and a reset."""
    await peer.send(STREAM_HEAD, *chunked(*SOME), pause_s=0.01)
    peer.reset()


class PutOff:
    """429 for so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    async def __call__(self, peer: Peer, asked: Asked) -> None:
        self.left -= 1
        if self.left >= 0:
            await peer.send(plain(b'{"error":{"message":"slow down"}}', "429 Too Many Requests", Retry_After="0"))
        else:
            await good(peer, asked)


async def plain_stream(peer: Peer, asked: Asked) -> None:
    """A good answer without chunks, ended by closing."""
    await peer.send(head(Content_Type="text/event-stream"), *words(TOKENS), END, DONE)
    peer.writer.close()


GZIP = head(Content_Type="text/event-stream", Content_Encoding="gzip", Content_Length="3") + b"\x1f\x8b\x08"
CONTEXT = b'{"object":"error","message":"This model\'s maximum context length is 2048 tokens.","code":400}'
NAN = event(b'{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null,"logprob":NaN}]}')

FAULTS = {
    "stall": (stall, "partial", "the server was silent for 1 s"),
    "reset": (reset, "partial", "reset"),
    "cut": (stream(*SOME, cut=True), "partial", "closed before the "),
    "inside": (stream(*SOME, b'data: {"choices":[{"ind'), "partial", "without a finish reason"),
    "nofinish": (stream(*SOME, DONE), "partial", "without a finish reason"),
    "midstream": (stream(*SOME, event({"error": {"message": "out of KV"}})), "partial", "out of KV"),
    "vllm": (stream(event({"error": {"message": "EngineDead", "code": 500}}), DONE), "failed", "EngineDead"),
    "abort": (stream(*SOME, event(last("abort", 3)), DONE), "partial", "'abort'"),
    "empty": (stream(event(last("stop", 0)), DONE), "failed", "the answer is empty"),
    "halfhead": (answer(b"HTTP/1.1 200 OK\r\nConte"), "failed", "no answer came"),
    "html": (
        answer(plain(b"<html>Gateway</html>", content_type="text/html")),
        "failed",
        "no event stream but text/html",
    ),
    "gzip": (answer(GZIP), "failed", r"compressed \(gzip\)"),
    "redirect": (answer(plain(b"", "307 Temporary Redirect", Location="/x")), "failed", "HTTP 307"),
    "e500": (answer(plain(b'{"error":"CUDA error"}', "500 Internal Server Error")), "failed", "HTTP 500: .*CUDA error"),
    "context": (answer(plain(CONTEXT, "400 Bad Request")), "failed", "HTTP 400: .*maximum context length"),
    "later": (PutOff(2), "complete", None),
    "never": (PutOff(99), "failed", "HTTP 429: .*slow down"),
    "nodone": (stream(*words(TOKENS), END), "complete", None),
    "badutf8": (stream(*words(TOKENS - 1), BAD_UTF8, END, DONE), "complete", None),
    "nan": (stream(*words(TOKENS - 1), NAN, END, DONE), "complete", None),
    "nojson": (stream(*words(TOKENS), event(b"oops"), event(b"[]"), END, DONE), "complete", None),
    "unchunked": (plain_stream, "complete", None),
}
"""Name of the prompt: the answer, its status in the ledger, and a pattern of the problem."""


@pytest.fixture(scope="module")
def ran(module_tool, module_model) -> Ran:
    """The run; a good answer between the others keeps it from being given up."""
    module_tool.prompts(*(name for fault in FAULTS for name in (fault, "good")))
    server = module_model(**{name: fault[0] for name, fault in FAULTS.items()})
    return module_tool(*module_tool.arguments(server.url, "--stall-limit", "1", "--json"))


def line_of(ran: Ran, name: str) -> dict:
    """The ledger line of a prompt."""
    number = list(FAULTS).index(name) * 2 + 1
    (line,) = [line for line in ran.document("ledger.json")["exchanges"] if line["prompt"] == f"own-{number}"]
    return line


def test_the_run_is_judged(ran):
    assert ran.code == 4, ran.err
    assert "Traceback" not in ran.err
    verdict = json.loads(ran.out)
    assert verdict["kind"] == "inconclusive"
    assert verdict["stopped"] is None
    assert "did not come to their end" in json.dumps(verdict["reasons"])


@pytest.mark.parametrize("name", FAULTS)
def test_each_answer_is_told_apart(name, ran):
    _, status, problem = FAULTS[name]
    line = line_of(ran, name)
    assert line["status"] == status, line["problem"]
    if problem is None:
        assert line["problem"] is None
        assert line["tally"]["delivered"] == TOKENS
    else:
        assert re.search(problem, line["problem"]), line["problem"]


def test_good_answers_beside_them_are_counted(ran):
    lines = ran.document("ledger.json")["exchanges"]
    assert len(lines) == 2 * len(FAULTS)
    assert all(line["status"] == "complete" for line in lines[1::2])


def test_what_was_delivered_before_it_broke_is_kept(ran):
    for name in ("stall", "reset", "cut", "midstream", "abort"):
        assert line_of(ran, name)["tally"]["events"] == 3, name


def test_attempts_are_recorded(ran):
    assert line_of(ran, "later")["attempt"] == 2
    assert line_of(ran, "never")["attempt"] == 4


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("nodone", "ended without [DONE]"),
        ("nan", "held NaN or Infinity"),
        ("nojson", "2 events passed over: no JSON object"),
        ("inside", "ended inside an event"),
    ],
)
def test_what_is_odd_but_no_fault_is_noted(name, note, ran):
    assert any(note in one for one in line_of(ran, name)["notes"]), line_of(ran, name)["notes"]


def test_judging_again_gives_the_same(ran, module_tool):
    before = (ran.folder / "verdict.json").read_bytes()
    again = module_tool("judge", str(ran.folder))
    assert again.code == 4
    assert (ran.folder / "verdict.json").read_bytes() == before
