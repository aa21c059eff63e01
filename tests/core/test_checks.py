"""Every check, on evidence where it holds and on evidence where it does not."""

import json
from dataclasses import replace

import pytest
from evidence_of_checks import context_of
from runs import Cells, Recording, recording
from simulated import Setting, simulate

from auditor.core.checks import CHECKS, Context, run_checks
from auditor.core.checks.acceptance import is_step
from auditor.core.counting.client import ClientLoad
from auditor.core.explain.discrimination import Discrimination
from auditor.core.explain.record import Prediction
from auditor.core.facts import known
from auditor.core.folder import Recount
from auditor.core.judging.verdict import Finding
from auditor.core.record import sha256
from auditor.core.runlog import LogRound, RunLog, timeline_of
from auditor.core.stats import estimate
from auditor.core.validity.canaries import Canaries, CanaryAnswer, Position, Reference, make_canaries
from auditor.core.wire.http1 import ResponseReader
from auditor.terms import Outcome

DRAFT = recording("llamacpp", "draft/chat_stream_tpt")
NGRAM = recording("vllm-0.32-cpu", "ngram_comp256")
LOOP = recording("llamacpp", "edge_plain/ctx_overflow_gen")
STOP = recording("vllm-0.32-cpu", "ngram_x_stopstr")
LOOP_UNSCRAPED = replace(LOOP, before=None, after=None)
NO_USAGE = recording("vllm-0.32-cpu", "ngram_x_nousage")
LONG = recording("vllm-0.24-h200", "plain-c16-stream1")
FAST = simulate(Setting(1, tokens=40), "vllm")[0][0]


def edited(one: Recording, old: bytes, new: bytes) -> Recording:
    """The recording with other bytes in the body of its reads, each read a chunk of its own."""
    reader, reads, found = ResponseReader(), [], 0
    for t_ns, data in one.reads:
        knows_head = reader.head is not None
        body = reader.feed(data)
        found += body.count(old)
        body = body.replace(old, new)
        head = b"" if knows_head else data[: data.index(b"\r\n\r\n") + 4]
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        reads.append((t_ns, head + chunk + (b"0\r\n\r\n" if reader.complete else b"")))
    assert found
    return replace(one, reads=tuple(reads))


def counters_after(one: Recording, name: str, by: int) -> Recording:
    """The recording with one counter of the scrape after it moved further."""
    lines = []
    for line in (one.after or "").splitlines():
        if line.startswith(name) and not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            line = f"{series} {float(value) + by}"
        lines.append(line)
    return replace(one, after="\n".join(lines) + "\n")


def alone(one: Recording, **fields: object) -> Context:
    return context_of(Cells(subject=((one,),), has_scrapes=False), **fields)  # type: ignore[arg-type]


def between(*rounds: Recording, **fields: object) -> Context:
    return context_of(Cells(subject=tuple((one,) for one in rounds)), **fields)  # type: ignore[arg-type]


def recounted(*counts: int, independent: bool = True) -> Recount:
    # With scrapes around each round, its exchange is the second of three.
    numbers = {3 * index + 2: count for index, count in enumerate(counts)}
    return Recount(tokenizer="tokenizer.json", is_independent=independent, counts=numbers)


def side_by_side(*sends: tuple[int, int]) -> Context:
    """Streams from so many ms for so many ms."""
    ms, made = 10**6, []
    for index, (send, length) in enumerate(sends):
        end = send + length
        reads = tuple(
            (send * ms + (end - send) * ms * i // len(FAST.reads), data) for i, (_, data) in enumerate(FAST.reads)
        )
        last = (end * ms, FAST.reads[-1][1])
        moved = replace(
            FAST, name=f"s{index}", send_ns=send * ms, sent_ns=send * ms, end_ns=end * ms, before=None, after=None
        )
        made.append(replace(moved, reads=(*reads[:-1], last)))
    return context_of(Cells(subject=(tuple(made),), has_scrapes=False))


def streams(context: Context, configured: int) -> Context:
    """The same with fewer streams configured than there are requests: a closed loop."""
    cell = context.account.ledger.cells[0].model_copy(update={"streams": configured})
    ledger = context.account.ledger.model_copy(update={"cells": (cell,)})
    return replace(context, account=replace(context.account, ledger=ledger))


def client(**figures: object) -> Context:
    """With what the client recorded of itself: a quick one but for these figures."""
    quick = {
        "span_ns": 10**10,
        "loop_busy": 0.2,
        "cpu_cores": 0.3,
        "lag_ns": 10**6,
        "lost": 0.0,
        "read_ahead_bytes": 300,
    }
    load = ClientLoad.model_validate({"cell": "subject", "log_waits": 0, "queue_share": 0.001, **quick, **figures})
    context = alone(DRAFT)
    ledger = context.account.ledger.model_copy(update={"client": (load,)})
    return replace(context, account=replace(context.account, ledger=ledger))


def on_gpu(gpu: str, model: str, **facts: object) -> dict[str, object]:
    """What was observed of a server on one card."""
    observed = {"gpu": gpu, "gpu_count": 1, "model_path": model, **facts}
    return {"facts": {name: known(value, "nvidia-smi") for name, value in observed.items()}}  # type: ignore[arg-type]


def logged(context: Context, *lines: str, **fields: object) -> Context:
    """The same with these lines in the server's log of the one round."""
    text = "".join(f"{line}\n" for line in lines).encode()
    rounds = (LogRound(cell="subject", repeat=0, first=1, end=len(lines) + 1),)
    log = RunLog.model_validate(
        {"server": "subject", "name": "s.log", "sha256": sha256(text), "how": "sizes", "rounds": rounds, **fields}
    )
    return replace(context, timeline=timeline_of(log, text))


def request_line(tokens: int, task: int = 8) -> str:
    """What llama.cpp prints of a request."""
    return (
        f"0.39.111.311 I slot print_timing: id  0 | task {task} |        eval time =    6207.20 ms /    {tokens} tokens "
        f"(  105.21 ms per token,     9.51 tokens per second)"
    )


def window_line(rate: float, running: int = 1) -> str:
    """What vLLM prints every ten seconds."""
    return (
        "(APIServer pid=1) INFO 12-01 08:18:04 [loggers.py:273] Engine 000: Avg prompt throughput: 9.5 tokens/s, Avg "
        f"generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, "
        "Prefix cache hit rate: 0.0%"
    )


def mode(value: str, source: str = "GET /server_info") -> dict[str, object]:
    """How the server says that it accepts."""
    return {"facts": {"acceptance_mode": known(value, source)}}


def received(context: Context) -> float:
    """Tokens per second of all streams."""
    one = context.account.ledger.cells[0].rounds[0]
    return (one.tally.delivered or 0) * 1e9 / (one.window_ns or 1)


WHOLE = between(DRAFT)
RATE = round(received(WHOLE), 1)
SYNTHETIC = {"acceptance_mode": known("synthetic", "server log line 3, its own warning")}
IN_LOG = {"facts": {"draft_tokens": known(4, "server log line 3, launch arguments")}}


def parting(*rules: str) -> Context:
    """A run with a further measurement beside it."""
    context = alone(DRAFT)
    predictions = tuple(Prediction(rule=rule, value=20.0, low=19.0, high=21.0) for rule in rules)
    asked = Discrimination(
        run="run-0", plan_digest="0", change="answers half as long", what="length", predictions=predictions
    )
    ledger = context.account.ledger
    again = ledger.cells[0].model_copy(update={"cell": "discriminating"})
    plan = context.plan.model_copy(update={"discriminates": asked})
    account = replace(context.account, ledger=ledger.model_copy(update={"cells": (*ledger.cells, again)}))
    return replace(context, plan=plan, account=account)


SINGLE = simulate(Setting(1, width=1, acceptance=0.0, tokens=40), "vllm")[0][0]
"""One word an event."""


def with_gaps(gap: float) -> Recording:
    """The answer with log-probabilities, the second best so many nats below the best."""
    top = b'[{"logprob":-0.1},{"logprob":%f}]' % (-0.1 - gap)
    entry = b'{"token":" word","bytes":null,"top_logprobs":' + top + b"}"
    return edited(SINGLE, b'"index": 0', b'"index": 0, "logprobs":{"content":[' + entry + b"]}")


def texts(plain: Recording, batched: Recording, compared: Recording, **facts: object) -> Context:
    """A text check of two requests."""
    found = [context_of(Cells(subject=((one,),), has_scrapes=False)) for one in (plain, batched, compared)]
    keys = ("text-plain", "text-plain-8", "text-subject")
    items = [
        replace(item, line=item.line.model_copy(update={"cell": key, "index": index}))
        for key, one in zip(keys, found, strict=True)
        for item in one.account.counted
        for index in (0, 1)
    ]
    context = found[2]
    cells = [context.plan.subject.model_copy(update={"key": key, "role": "extra"}) for key in keys]
    plan = context.plan.model_copy(update={"cells": (context.plan.subject, *cells)})
    server = context.facts.servers["subject"]
    told = {name: known(value, "/props") for name, value in {"quantisation": "Q4_1", **facts}.items()}  # type: ignore[arg-type]
    server = server.model_copy(update={"facts": {**server.facts, **told}})
    facts_ = context.facts.model_copy(update={"servers": {"subject": server}})
    return replace(context, plan=plan, facts=facts_, account=replace(context.account, counted=tuple(items)))


SURE, NEAR = with_gaps(3.0), with_gaps(0.05)
OTHER = edited(SINGLE, b" word", b" wort")


def asked(text: str | None = None, *, shift: float = 0.0) -> Canaries:
    """Canaries, answered rightly or all with one text, with log-probabilities moved by a shift."""
    top = {"a": -0.1 + shift, "b": -2.5}
    positions = tuple(Position(token="a", logprob=top["a"], top=top) for _ in range(8))
    answers = [
        CanaryAnswer(canary=one.id, when=when, text=one.expected if text is None else text, positions=positions)
        for when in ("before", "after")
        for one in make_canaries(1)
    ]
    return Canaries(model="m", asked=make_canaries(1), answers=tuple(answers))


def beside(canaries: Canaries, reference: Canaries | None = None) -> Context:
    """A run with these canaries, and those of a reference."""
    other = None if reference is None else Reference(run="other", canaries=reference)
    return replace(alone(DRAFT), canaries=canaries, reference=other)


HOLDS: dict[str, Context] = {
    "real-server": alone(DRAFT),
    "run-finished": alone(DRAFT),
    "answers-complete": alone(DRAFT),
    "no-other-traffic": between(DRAFT),
    "in-flight": side_by_side((0, 100), (0, 100), (2, 98)),
    "full-load": side_by_side((0, 100), (0, 90)),
    "client-kept-up": client(),
    "times-ordered": alone(DRAFT),
    "reconciled": between(DRAFT),
    "counters-agree": between(DRAFT),
    "tokens-counted": alone(DRAFT),
    "counts-agree": alone(DRAFT),
    "recount": between(DRAFT, recount=recounted(95)),
    "visible-text": alone(DRAFT),
    "valid-output": alone(DRAFT),
    "honest-acceptance": alone(DRAFT, server=mode("standard")),
    "greedy-text": texts(SURE, SURE, SINGLE),
    "server-log": logged(WHOLE, request_line(WHOLE.lines[0].tally.delivered or 0)),
    "rules-parted": parting("delivered/decode", "drafted/decode"),
    "server-log-facts": logged(WHOLE, request_line(95), **IN_LOG),
    "no-loops": alone(DRAFT),
    "canaries": beside(asked()),
    "fingerprint": beside(asked(), asked(shift=0.01)),
    "whole-answers": alone(recording("llamacpp", "edge_plain/eos_chat")),
    "full-length": alone(DRAFT),
    "sustained": alone(LONG),
    "interval": alone(DRAFT, judged=estimate([100, 101, 100.5])),
    "below-bound": alone(DRAFT, server=on_gpu("NVIDIA H200", "Llama-3.1-8B-Instruct")),
    "own-times": alone(recording("llamacpp", "plain/chat_stream_tpt")),
    "clean-streams": alone(DRAFT),
    "cache-unused": alone(DRAFT),
    "fresh-prompts": alone(DRAFT),
    "fields-accepted": alone(DRAFT),
}
FAILS: dict[str, list[tuple[Context, str]]] = {
    "real-server": [
        (alone(DRAFT, quick=True), "a quick look"),
        (alone(DRAFT, rehearsal=True), "a rehearsal on the embedded server"),
    ],
    "run-finished": [(context_of(Cells(subject=((DRAFT,),), is_finished=False, has_scrapes=False)), "partial: 1 of 1")],
    "answers-complete": [
        (alone(recording("vllm-0.32-cpu", "ngram_disconnect_fin")), "1 of 1 answer did not come to its end"),
        (alone(recording("vllm-0.32-cpu", "plain_engine_kill_SIGKILL_stream")), "EngineCore encountered an issue"),
        (alone(recording("llamacpp", "edge_plain/utf8_cut_chat")), "the answer is empty"),
    ],
    "no-other-traffic": [
        (between(counters_after(DRAFT, "llamacpp:tokens_predicted_total", 60)), "moved by +60 tokens"),
        (between(counters_after(DRAFT, "llamacpp:tokens_predicted_total", -3)), "moved by -3 tokens"),
        (between(recording("vllm-0.32-cpu", "ngram_conc8_0"), LOOP_UNSCRAPED), "moved by +896 tokens"),
        (
            between(
                counters_after(DRAFT, "llamacpp:tokens_predicted_total", 5),
                counters_after(DRAFT, "llamacpp:tokens_predicted_total", -5),
            ),
            "moved by +5 tokens beside what this client received, and in 1 more round by",
        ),
    ],
    "in-flight": [(streams(side_by_side((0, 100), (100, 100), (200, 100)), 2), "1.00 of 2 streams were in flight")],
    "full-load": [(side_by_side((0, 100), (0, 20)), "1.38 of 2 streams")],
    "client-kept-up": [
        (client(loop_busy=0.97), "its event loop used more than 90% of a core"),
        (client(lost=0.4), "its event loop was late by more than 10 ms for 40% of the time"),
        (client(read_ahead_bytes=200_000), "what the server sent lay unread"),
        (client(log_waits=3), "it waited 3 times for its log to be written"),
        (client(queue_share=0.05), "requests waited in it for 5.0% of the time"),
    ],
    "times-ordered": [(alone(replace(DRAFT, send_ns=DRAFT.reads[5][0])), "the times of exchange 1 run backwards")],
    "reconciled": [
        (alone(edited(DRAFT, b'"draft_n_accepted":59', b'"draft_n_accepted":58')), "the counts do not add up"),
        (between(counters_after(recording("vllm-0.32-cpu", "plain_comp64"), "vllm:inter_token_latency_seconds_count", 9)), "9 tokens past the end"),
    ],
    "counters-agree": [
        (between(counters_after(DRAFT, "llamacpp:spec_decode_num_draft_tokens_total", 4)), "drafted 143 in the streams and 147"),
        (between(counters_after(DRAFT, "llamacpp:spec_decode_num_drafts_total", 1)), "verify steps 36 in the streams and 37"),
    ],
    "tokens-counted": [(alone(NO_USAGE), "1 of 1 answer has no count of tokens")],
    "counts-agree": [
        (alone(edited(NGRAM, b'"completion_tokens":256}', b'"completion_tokens":300}')), "the server's own counts differ in 1 of 1"),
    ],
    "recount": [
        (between(DRAFT, recount=recounted(48)), "48 tokens; the server counted 96 (0.500)"),
        (between(DRAFT, recount=recounted(120)), "(1.250)"),
    ],
    "visible-text": [(alone(STOP), "3 of 25 tokens were counted and are not visible as text")],
    "valid-output": [
        (alone(edited(FAST, b" word", b"\\ufffd")), "1 of 1 answer is not readable"),
        (alone(edited(FAST, b" word", b"!!!!!!!!!!")), "'!' again and again from 0% of the text, as a sampler gives of NaN, at token 0, "),
    ],
    "honest-acceptance": [
        (alone(DRAFT, server=mode("synthetic")), "acceptance is synthetic (GET /server_info)"),
        (alone(DRAFT, server=mode("lossy")), "would not have chosen"),
        (logged(alone(DRAFT, server=mode("standard")), facts=SYNTHETIC), "synthetic (server log line 3"),
    ],
    "greedy-text": [
        (texts(SURE, SURE, OTHER), "by more than 0.1 nats, as far as batch shapes move them: the text of request 0 at token 0, by 3"),
    ],
    "server-log": [
        (logged(WHOLE, request_line(70)), f"70 tokens in 1 line of the server's log, {WHOLE.lines[0].tally.delivered} re"),
        (logged(WHOLE, window_line(1.0), window_line(round(2 * RATE, 1))), "is the mean of 1 line of the server's log"),
    ],
    "rules-parted": [(parting("delivered/decode", "delivered/decode"), "(predicted 20): not all of them part")],
    "server-log-facts": [
        (
            logged(alone(DRAFT, server={"facts": {"draft_tokens": known(3, "launch")}}), **IN_LOG),
            "draft_tokens is 4 (server log line 3, launch arguments) and 3 (launch)",
        ),
    ],
    "no-loops": [(alone(LOOP), "repeats 19 characters from 0% of the text to its end")],
    "canaries": [(beside(asked("no")), "not even a list is copied")],
    "fingerprint": [(beside(asked(), asked(shift=-1)), "are not those of run other (m): 64 of the tokens differ")],
    "whole-answers": [(alone(STOP), "1 of 1 answer breaks off; exchange 1: breaks off after ',', though it is said")],
    "full-length": [(alone(recording("llamacpp", "edge_plain/eos_chat")), "25 of")],
    "sustained": [(alone(DRAFT), "1 of 1 answer has fewer than 1,000 tokens; the shortest has 96")],
    "interval": [
        (alone(DRAFT, judged=estimate([100, 110, 120])), "22.6% to either side, more than 3%"),
        (alone(DRAFT, judged=estimate([100])), "one repeat gives no interval"),
    ],
    "below-bound": [
        (
            alone(DRAFT, server=on_gpu("NVIDIA GB10", "meta-llama/Llama-3.3-70B", quantisation="BF16", speculation=False)),
            "is above the hard bound of 1.964 tok/s: our tables, what was observed of the server, or the clock",
        ),
    ],
    "own-times": [(alone(recording("llamacpp", "draft/completions_stream_slowreader50ms")), "shared a socket read")],
    "clean-streams": [
        (alone(edited(FAST, b"data: [DONE]", b": bye")), "the stream ended without [DONE]"),
        (alone(edited(DRAFT, b'"index":0', b'"index":NaN')), "held NaN"),
        (alone(edited(FAST, b'"choices"', b"choices")), "passed over: no JSON object"),
    ],
    "cache-unused": [(alone(edited(DRAFT, b'"cached_tokens":0', b'"cached_tokens":39')), "39 of 39 prompt tokens came from a cache")],
    "fresh-prompts": [],
    "fields-accepted": [(alone(DRAFT, server={"dropped_fields": {"cache_prompt": "unknown field"}}), "cache_prompt (unknown field)")],
}  # fmt: skip


def ask(name: str, context: Context) -> Finding:
    return next(check for check in CHECKS if check.id == name).run(context)


def test_every_check_has_evidence_for_and_against() -> None:
    names = {check.id for check in CHECKS}
    assert set(HOLDS) == names
    assert set(FAILS) == names


@pytest.mark.parametrize("name", HOLDS)
def test_it_holds(name: str) -> None:
    found = ask(name, HOLDS[name])
    assert found.outcome is Outcome.HOLDS, found.sentence
    assert found.remedy is None


@pytest.mark.parametrize(
    ("name", "context", "words"), [(name, *case) for name, cases in FAILS.items() for case in cases]
)
def test_it_fails(name: str, context: Context, words: str) -> None:
    found = ask(name, context)
    assert found.outcome is Outcome.FAILS, found.sentence
    assert words in found.sentence
    assert found.remedy


@pytest.mark.parametrize(
    ("origins", "words"),
    [
        ({"suite"}, "the public suite of prompts only"),
        ({"claim"}, "the claim's own prompts only"),
        ({"claim", "suite"}, "the public suite"),
    ],
)
def test_prompts_that_the_claimant_could_know(origins: set[str], words: str) -> None:
    prompt = alone(DRAFT).plan.prompts[0]
    prompts = [prompt.model_copy(update={"origin": origin, "id": f"{origin}-1"}) for origin in origins]
    context = alone(DRAFT)
    subject = context.plan.subject.model_copy(update={"prompts": tuple(p.id for p in prompts)})
    plan = context.plan.model_copy(update={"prompts": tuple(prompts), "cells": (subject,)})
    found = ask("fresh-prompts", replace(context, plan=plan))
    assert (found.outcome, words in found.sentence) == (Outcome.FAILS, True)


@pytest.mark.parametrize(
    ("name", "context", "gravity", "words"),
    [
        ("no-other-traffic", alone(DRAFT), "dirty", "the server's counters were not read"),
        ("no-other-traffic", between(DRAFT, LOOP_UNSCRAPED), "dirty", "were not read"),
        ("recount", alone(DRAFT), "unconfirmed", "the server's own word"),
        ("recount", between(DRAFT, recount=recounted(95, independent=False)), "unconfirmed", "own word twice"),
        ("reconciled", alone(LOOP), "note", "does not tell"),
        ("counters-agree", alone(DRAFT), "note", "from one side only"),
        ("counters-agree", between(NO_USAGE), "note", "from one side only"),
        ("counts-agree", alone(NO_USAGE), "note", "nothing to compare"),
        ("visible-text", alone(LOOP), "note", "how many tokens each event holds"),
        ("interval", alone(DRAFT), "thin", "was not measured"),
        ("cache-unused", alone(NO_USAGE), "note", "does not say"),
        ("in-flight", alone(recording("llamacpp", "edge_plain/auth_missing")), "note", "could not be measured"),
        ("client-kept-up", alone(DRAFT), "note", "did not record how it kept up"),
        ("valid-output", alone(recording("llamacpp", "edge_plain/auth_missing")), "note", "no complete answer"),
        ("tokens-counted", alone(recording("llamacpp", "edge_plain/auth_missing")), "note", "no complete answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_not_available(name: str, context: Context, gravity: str, words: str) -> None:
    found = ask(name, context)
    assert (found.outcome, found.gravity) == (Outcome.NOT_AVAILABLE, gravity), found.sentence
    assert words in found.sentence


def test_drafts_that_only_the_counters_know_are_not_said_to_agree() -> None:
    """vLLM without counts per request: the ledger is filled from the counters, which then prove nothing of themselves."""
    streams_, _ = simulate(Setting(3, tokens=50), "vllm")
    context = context_of(Cells(subject=(streams_,)))
    assert context.account.ledger.cells[0].tally.drafted is not None
    assert context.lines[0].tally.drafted is None
    assert ask("counters-agree", context).outcome is Outcome.NOT_AVAILABLE


def test_an_answer_that_was_cut_does_not_make_other_traffic() -> None:
    """The server counted what it generated after the client was gone; that is not somebody else's."""
    gone = replace(recording("vllm-0.32-cpu", "ngram_disconnect_fin"), before=NGRAM.before, after=NGRAM.after)
    context = between(gone)
    one = context.account.ledger.cells[0].rounds[0]
    assert one.other_traffic is None
    assert "an exchange did not complete" in (one.counters_reason or "")
    assert ask("no-other-traffic", context).outcome is Outcome.NOT_AVAILABLE


def test_a_text_that_the_client_counted_needs_an_independent_tokenizer() -> None:
    for independent, outcome in ((True, Outcome.HOLDS), (False, Outcome.NOT_AVAILABLE)):
        recount = Recount(tokenizer="t", is_independent=independent, counts={1: 16})
        context = alone(NO_USAGE, recount=recount)
        assert str(context.lines[0].rung) == "retokenised"
        assert ask("recount", context).outcome is outcome
        assert ask("tokens-counted", context).outcome is Outcome.HOLDS


def test_findings_are_in_the_order_of_the_report_and_can_be_written() -> None:
    found = run_checks(HOLDS["reconciled"])
    assert [finding.id for finding in found] == [check.id for check in CHECKS]
    assert all(json.loads(finding.to_json()) for finding in found)
    assert not any(finding.outcome is Outcome.ERROR for finding in found)


@pytest.mark.parametrize(
    ("context", "outcome", "words"),
    [
        (alone(DRAFT, rehearsal=True), Outcome.NOT_APPLICABLE, "a rehearsal"),
        (alone(DRAFT), Outcome.NOT_AVAILABLE, "the GPU was not observed"),
        (
            alone(DRAFT, server=on_gpu("NVIDIA H200", "SmolLM2-135M")),
            Outcome.NOT_AVAILABLE,
            "not in the table of models",
        ),
        (alone(DRAFT, server=on_gpu("NVIDIA\nH200", "a")), Outcome.NOT_AVAILABLE, "cannot be read"),
    ],
)
def test_a_bound_that_is_not_known_decides_nothing(context: Context, outcome: Outcome, words: str) -> None:
    found = ask("below-bound", context)
    assert found.outcome is outcome
    assert words in found.sentence
    assert found.gravity == ("dirty" if outcome is Outcome.NOT_APPLICABLE else "note")


def test_a_log_of_windows_agrees_by_its_mean_and_the_line_before_the_round_is_left_out() -> None:
    found = ask("server-log", logged(WHOLE, window_line(1.0), window_line(RATE), window_line(RATE)))
    assert found.outcome is Outcome.HOLDS, found.sentence
    assert "2 lines" in found.sentence


@pytest.mark.parametrize(
    ("context", "outcome", "words"),
    [
        (WHOLE, Outcome.NOT_APPLICABLE, "no log of the server was given"),
        (logged(WHOLE, window_line(RATE)), Outcome.NOT_AVAILABLE, "lies whole within a measured round"),
        (logged(WHOLE, request_line(40), request_line(55, task=9)), Outcome.NOT_AVAILABLE, "holds 2 requests"),
        (logged(WHOLE, reason="its lines print no zone"), Outcome.NOT_AVAILABLE, "its lines print no zone"),
    ],
)
def test_a_log_that_cannot_be_laid_beside_the_client(context: Context, outcome: Outcome, words: str) -> None:
    found = ask("server-log", context)
    assert (found.outcome, words in found.sentence) == (outcome, True), found.sentence


def test_how_drafts_are_accepted_is_often_not_known() -> None:
    found = ask("honest-acceptance", alone(DRAFT))
    assert (found.outcome, found.remedy) == (Outcome.NOT_AVAILABLE, "give the server's log with --server-log")
    nothing = ask("honest-acceptance", alone(recording("llamacpp", "plain/chat_stream_tpt")))
    assert nothing.outcome is Outcome.NOT_APPLICABLE


def test_a_grave_sign_in_the_log_is_a_note() -> None:
    sign = {"line": 7, "kind": "variables", "text": "FORK_ACCEPT_ALL", "is_grave": True}
    found = ask("honest-acceptance", logged(alone(DRAFT), signs=[sign]))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")
    assert "server log line 7: variables: FORK_ACCEPT_ALL" in found.sentence


@pytest.mark.parametrize("shares", [[1, 1, 0.37, 0, 0], [1, 0.6], [0.4, 0], [1, 1, 0, 0], [0.99, 0.985, 0.5, 0.01]])
def test_the_shape_of_acceptance_that_is_forced_to_a_mean_length(shares: list[float]) -> None:
    assert is_step(shares)


@pytest.mark.parametrize(
    "shares",
    [[1, 1, 1], [1, 0.99, 0.95], [0.8, 0.6, 0.4], [0.74, 0.53, 0.42, 0.37], [0, 0], [0.01, 0], [0.7], [1, 0.8, 0.3]],
)
def test_the_shape_of_honest_acceptance(shares: list[float]) -> None:
    assert not is_step(shares)


def test_a_step_in_the_counters_is_a_note_with_its_numbers() -> None:
    context = alone(DRAFT)
    ledger = context.account.ledger
    cell = ledger.cells[0]
    tally = cell.tally.model_copy(update={"draft_width": None, "verify_steps": 100})
    cell = cell.model_copy(update={"accepted_by_position": (100, 100, 37, 0), "tally": tally})
    account = replace(context.account, ledger=ledger.model_copy(update={"cells": (cell,)}), counted=())
    found = ask("honest-acceptance", replace(context, account=account))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")
    assert "all prompts: 1, 1, 0.37, 0 of 100 steps" in found.sentence
    assert "mean length" in found.sentence


@pytest.mark.parametrize(
    ("context", "outcome", "gravity", "words"),
    [
        (texts(SURE, SURE, OTHER), Outcome.FAILS, "invalid", "2 of 2 greedy texts leave"),
        (texts(SURE, SURE, OTHER, quantisation=None), Outcome.FAILS, "note", "2 of 2 greedy texts leave"),
        (texts(NEAR, NEAR, OTHER), Outcome.HOLDS, "invalid", "2 leave it at near ties"),
        (texts(SURE, NEAR, OTHER), Outcome.FAILS, "invalid", "by more than 2.95 nats"),
        (texts(SURE, with_gaps(7.0), OTHER), Outcome.HOLDS, "invalid", "within 4 nats"),
        (texts(SINGLE, SINGLE, OTHER), Outcome.NOT_AVAILABLE, "note", "no log-probabilities"),
        (alone(DRAFT), Outcome.NOT_APPLICABLE, "invalid", "no server without speculation"),
        (alone(DRAFT, temperature=0.7), Outcome.NOT_APPLICABLE, "invalid", "temperature 0 only"),
        (
            context_of(Cells(subject=((SINGLE,),), plain=((OTHER,),), has_scrapes=False)),
            Outcome.NOT_AVAILABLE, "note", "1 of 1 texts differ from those without speculation; near ties alone do that too",
        ),
        (
            context_of(Cells(subject=((SINGLE,),), plain=((SINGLE,),), has_scrapes=False)),
            Outcome.HOLDS, "invalid", "no text of 1 answer differs",
        ),
    ],
)  # fmt: skip
def test_texts_beside_those_without_speculation(context: Context, outcome: Outcome, gravity: str, words: str) -> None:
    found = ask("greedy-text", context)
    assert (found.outcome, found.gravity, words in found.sentence) == (outcome, gravity, True), found.sentence
