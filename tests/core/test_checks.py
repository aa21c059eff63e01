"""Every check, on evidence where it holds and on evidence where it does not."""

import json
from dataclasses import replace

import pytest
from evidence_of_checks import context_of
from runs import Cells, Recording, recording
from simulated import Setting, simulate

from auditor.core.checks import CHECKS, Context, run_checks
from auditor.core.facts import known
from auditor.core.folder import Recount
from auditor.core.http1 import ResponseReader
from auditor.core.stats import estimate
from auditor.core.verdict import Finding
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


def on_gpu(gpu: str, model: str, **facts: object) -> dict[str, object]:
    """What was observed of a server on one card."""
    observed = {"gpu": gpu, "gpu_count": 1, "model_path": model, **facts}
    return {"facts": {name: known(value, "nvidia-smi") for name, value in observed.items()}}  # type: ignore[arg-type]


HOLDS: dict[str, Context] = {
    "real-server": alone(DRAFT),
    "run-finished": alone(DRAFT),
    "answers-complete": alone(DRAFT),
    "no-other-traffic": between(DRAFT),
    "in-flight": side_by_side((0, 100), (0, 100), (2, 98)),
    "full-load": side_by_side((0, 100), (0, 90)),
    "times-ordered": alone(DRAFT),
    "reconciled": between(DRAFT),
    "counters-agree": between(DRAFT),
    "tokens-counted": alone(DRAFT),
    "counts-agree": alone(DRAFT),
    "recount": between(DRAFT, recount=recounted(95)),
    "visible-text": alone(DRAFT),
    "valid-output": alone(DRAFT),
    "no-loops": alone(DRAFT),
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
        (alone(recording("vllm-0.32-cpu", "ngram_disconnect_fin")), "1 of 1 answers did not come to their end"),
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
            "moved by +5 tokens beside what this client received, and in 1 more rounds",
        ),
    ],
    "in-flight": [(streams(side_by_side((0, 100), (100, 100), (200, 100)), 2), "1.00 of 2 streams were in flight")],
    "full-load": [(side_by_side((0, 100), (0, 20)), "1.38 of 2 streams")],
    "times-ordered": [(alone(replace(DRAFT, send_ns=DRAFT.reads[5][0])), "the times of exchange 1 run backwards")],
    "reconciled": [
        (alone(edited(DRAFT, b'"draft_n_accepted":59', b'"draft_n_accepted":58')), "the counts do not add up"),
        (between(counters_after(recording("vllm-0.32-cpu", "plain_comp64"), "vllm:inter_token_latency_seconds_count", 9)), "9 tokens past the end"),
    ],
    "counters-agree": [
        (between(counters_after(DRAFT, "llamacpp:spec_decode_num_draft_tokens_total", 4)), "drafted 143 in the streams and 147"),
        (between(counters_after(DRAFT, "llamacpp:spec_decode_num_drafts_total", 1)), "verify steps 36 in the streams and 37"),
    ],
    "tokens-counted": [(alone(NO_USAGE), "1 of 1 answers have no count of tokens")],
    "counts-agree": [
        (alone(edited(NGRAM, b'"completion_tokens":256}', b'"completion_tokens":300}')), "the server's own counts differ in 1 of 1"),
    ],
    "recount": [
        (between(DRAFT, recount=recounted(48)), "48 tokens; the server counted 96 (0.500)"),
        (between(DRAFT, recount=recounted(120)), "(1.250)"),
    ],
    "visible-text": [(alone(STOP), "3 of 25 tokens were counted and are not visible as text")],
    "valid-output": [
        (alone(edited(FAST, b" word", b"\\ufffd")), "1 of 1 answers are not readable"),
        (alone(edited(FAST, b" word", b"!!!!!!!!!!")), "repeats 1 characters"),
    ],
    "no-loops": [(alone(LOOP), "repeats 19 characters from 0% of the text to its end")],
    "full-length": [(alone(recording("llamacpp", "edge_plain/eos_chat")), "25 of")],
    "sustained": [(alone(DRAFT), "1 of 1 answers have fewer than 1,000 tokens; the shortest has 96")],
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
        (alone(edited(FAST, b'"choices"', b"choices")), "were not JSON objects"),
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
