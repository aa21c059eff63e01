"""The verdict's precedence: which of several things that are wrong is said, and with which exit code."""

from dataclasses import dataclass, field, replace

import pytest
from runs import Cells, plan_of, recording

from auditor.core.bases import BasisValue, Load
from auditor.core.claim.claim import Case, parse_claim
from auditor.core.judging.basis import judged_basis
from auditor.core.judging.compare import Comparison
from auditor.core.judging.decide import decide
from auditor.core.judging.verdict import Claimed, Finding, Gravity
from auditor.core.stats import Estimate
from auditor.terms import Match, Outcome, VerdictKind

PLAN = plan_of(Cells(subject=((recording("llamacpp", "draft/chat_stream_tpt"),),)))


def claimed(low: float | None = 129.5, high: float | None = 130.5, basis: str | None = None) -> Claimed:
    return Claimed(
        claim="c", case="c", title="t", text="130 tok/s", low=low, high=high, basis=basis, judged_on="delivered/decode",
        judged_because="",
    )  # fmt: skip


def measured(identifier: str, value: float, *, half: float | None = 1.0, honest: bool = True) -> BasisValue:
    spread = (
        {"low": value - half, "high": value + half} if half is not None else {"reason": "one repeat gives no interval"}
    )
    return BasisValue(
        id=identifier, name=identifier, formula="", is_honest=honest, estimate=Estimate(value=value, n=3, **spread)
    )


def finding(gravity: Gravity, outcome: Outcome = Outcome.FAILS, name: str = "") -> Finding:
    return Finding(id=name or gravity, outcome=outcome, gravity=gravity, sentence=f"{gravity} {outcome}")


def row(match: Match, weight: str = "decisive") -> Comparison:
    return Comparison(field="GPU", stated="RTX 5090", observed="H200", match=match, weight=weight)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """A run's evidence, good in everything but what is changed."""

    value: float = 40.0
    half: float | None = 1.0
    basis: str | None = None
    findings: tuple[Finding, ...] = ()
    rows: tuple[Comparison, ...] = (row(Match.EQUAL),)
    others: tuple[BasisValue, ...] = ()
    backed: tuple[str, ...] = ()
    claim: Claimed = field(default_factory=claimed)
    rehearsal: bool = False


DIRTY, INVALID, THIN, UNCONFIRMED = (finding(gravity) for gravity in ("dirty", "invalid", "thin", "unconfirmed"))
UNTOLD = {gravity: finding(gravity, Outcome.NOT_AVAILABLE) for gravity in ("dirty", "thin", "unconfirmed", "note")}
PEAK, DRAFTED = measured("peak/second", 130), measured("drafted/decode", 130, honest=False)
REACHED = Seen(value=130)
K = VerdictKind

CASES = [
    # dirty over everything
    (replace(REACHED, findings=(DIRTY, INVALID, THIN), rows=(row(Match.DIFFERS),)), K.INCONCLUSIVE, "not clean"),
    (Seen(findings=(finding("dirty", Outcome.ERROR),)), K.INCONCLUSIVE, "not clean"),
    # invalid over not comparable, thin and reproduced
    (replace(REACHED, findings=(INVALID, THIN), rows=(row(Match.DIFFERS),)), K.INVALID_OUTPUT, "not valid output"),
    # not comparable over thin, unlabelled, miscounted and the number
    (replace(REACHED, findings=(THIN,), rows=(row(Match.DIFFERS),)), K.NOT_COMPARABLE, "not the thing"),
    (replace(REACHED, rehearsal=True), K.NOT_COMPARABLE, "not the thing"),
    (Seen(others=(PEAK,), backed=("drafted/decode",), rows=(row(Match.DIFFERS),)), K.NOT_COMPARABLE, "not the thing"),
    # a minor difference decides nothing
    (replace(REACHED, rows=(row(Match.DIFFERS, "minor"),)), K.REPRODUCED, "delivered 130 tok/s (129 to 131, 3 repeats)"),
    # no number claimed, or none measured
    (Seen(claim=claimed(None, None)), K.INCONCLUSIVE, "states no number"),
    # thin over the number, either way
    (replace(REACHED, findings=(THIN,)), K.INCONCLUSIVE, "too thin"),
    (Seen(findings=(THIN,)), K.INCONCLUSIVE, "too thin"),
    (Seen(findings=(UNTOLD["thin"],)), K.INCONCLUSIVE, "too thin"),
    (replace(REACHED, half=None), K.INCONCLUSIVE, "no interval), on evidence too thin"),
    # unlabelled over miscounted and not-reproduced
    (Seen(others=(PEAK, DRAFTED), backed=("drafted/decode",)), K.UNLABELLED, "does not state its basis"),
    (Seen(others=(PEAK,), rows=(row(Match.UNKNOWN),)), K.UNLABELLED, "peak/second (130 tok/s) reaches the claim"),
    # a stated basis is not unlabelled
    (Seen(others=(PEAK,), basis="decode"), K.NOT_REPRODUCED, "below the 130 tok/s claimed"),
    # miscounted over not-reproduced and over reproduced, and only with a witness
    (Seen(others=(DRAFTED,), backed=("drafted/decode",)), K.MISCOUNTED, "as a witness shows"),
    (replace(REACHED, others=(DRAFTED,), backed=("drafted/decode",)), K.MISCOUNTED, "as a witness shows"),
    (Seen(others=(DRAFTED,)), K.NOT_REPRODUCED, "below the 130 tok/s claimed"),
    # not-reproduced needs everything equal, and to have been alone
    (Seen(), K.NOT_REPRODUCED, "delivered 40 tok/s (39 to 41, 3 repeats), below"),
    (Seen(rows=(row(Match.UNKNOWN),)), K.INCONCLUSIVE, "not everything that matters"),
    (Seen(rows=(row(Match.UNSTATED),)), K.INCONCLUSIVE, "not everything that matters"),
    (Seen(rows=(row(Match.UNSTATED, "minor"),)), K.NOT_REPRODUCED, "below"),
    (Seen(findings=(UNTOLD["dirty"],)), K.INCONCLUSIVE, "not everything that matters"),
    (Seen(findings=(UNTOLD["unconfirmed"], UNTOLD["note"], finding("note"))), K.NOT_REPRODUCED, "below"),
    # reproduced needs a witness of the count, and not that everything was observed
    (replace(REACHED, findings=(UNTOLD["unconfirmed"],)), K.INCONCLUSIVE, "the count has no witness"),
    (replace(REACHED, findings=(UNTOLD["dirty"],), rows=(row(Match.UNKNOWN),)), K.REPRODUCED, "claimed 130 tok/s"),
    # the edges of the interval
    (Seen(value=128.5), K.REPRODUCED, "128.5"),
    (Seen(value=128.4), K.NOT_REPRODUCED, "128.4"),
    (Seen(value=131.5), K.REPRODUCED, "131.5"),
    (Seen(value=131.6), K.EXCEEDED, "more than the 130 tok/s claimed"),
]  # fmt: skip


def decided(case: Seen) -> tuple[VerdictKind, str, tuple[str, ...]]:
    judged = measured("delivered/decode", case.value, half=case.half)
    bases = (judged, *case.others)
    claim = case.claim.model_copy(update={"basis": case.basis})
    matching = tuple(basis.id for basis in case.others)
    plan = PLAN.model_copy(update={"rehearsal": case.rehearsal})
    found = decide(claim, judged, case.findings, case.rows, matching, bases, plan, backed=case.backed)
    return found.kind, found.sentence, found.reasons


@pytest.mark.parametrize(("case", "kind", "words"), CASES)
def test_precedence(case: Seen, kind: VerdictKind, words: str) -> None:
    found, sentence, _ = decided(case)
    assert found is kind, sentence
    assert sentence.startswith(f"{kind.value}: ")
    assert words in sentence


def test_every_verdict_of_a_run_is_among_them() -> None:
    assert {kind for _, kind, _ in CASES} == set(VerdictKind) - {VerdictKind.IMPOSSIBLE}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (K.REPRODUCED, 0), (K.EXCEEDED, 0), (K.MISCOUNTED, 3), (K.NOT_REPRODUCED, 3), (K.INVALID_OUTPUT, 3),
        (K.IMPOSSIBLE, 3), (K.UNLABELLED, 4), (K.NOT_COMPARABLE, 4), (K.INCONCLUSIVE, 4),
    ],
)  # fmt: skip
def test_exit_codes(kind: VerdictKind, code: int) -> None:
    assert int(kind.exit_code) == code


def test_a_missing_rate_says_why() -> None:
    for judged_on, judged, words in (
        (
            "delivered/decode",
            measured("x", 1).model_copy(update={"estimate": None, "reason": "needs times"}),
            "needs times",
        ),
        ("delivered/gpu", None, "the number of GPUs is not known"),
        ("prefill", None, "no rule here measures prefill"),
    ):
        claim = claimed().model_copy(update={"judged_on": judged_on})
        found = decide(claim, judged, (), (), (), (), PLAN)
        assert (found.kind, words in found.sentence) == (VerdictKind.INCONCLUSIVE, True)


def test_the_headline_names_known_prompts_and_what_was_counted() -> None:
    known = finding("note", name="fresh-prompts")
    assert decided(replace(REACHED, findings=(known,)))[1].endswith("on prompts that the claimant could know")
    judged = measured("drafted/decode", 130, honest=False)
    found = decide(claimed(basis="drafted"), judged, (), (), (), (judged,), PLAN)
    assert found.sentence.startswith("reproduced: measured as drafted/decode: 130 tok/s")


def test_the_reasons_say_what_was_wrong() -> None:
    assert decided(Seen(rows=(row(Match.DIFFERS),)))[2] == ("GPU: the claim states RTX 5090, observed is H200",)
    assert decided(replace(REACHED, rows=(row(Match.UNKNOWN),)))[2] == ("not observed or not stated: GPU",)
    assert decided(Seen(findings=(DIRTY,)))[2] == ("dirty fails",)


def claim_of(reported: str) -> Case:
    text = f"schema: 1\nid: a\ntitle: t\nreported: {{value: 130, {reported}}}\n"
    return parse_claim(text, "claim.yaml").case(None)


@pytest.mark.parametrize(
    ("reported", "streams", "gpus", "judged_on", "words"),
    [
        ("", 1, None, "delivered/decode", "states no basis"),
        ("", 4, None, "delivered/decode", "states no basis"),
        ("streams: 8", 8, None, "delivered/system", "states 8 streams and no basis"),
        ("streams: 8", 1, None, "delivered/request", "states 8 streams and no basis"),
        ("basis: decode", 4, None, "delivered/decode", "states its basis: decode"),
        ("basis: per_user", 4, None, "delivered/decode", "per_user"),
        ("basis: request", 1, None, "delivered/request", "request"),
        ("basis: output", 4, None, "delivered/system", "output"),
        ("basis: output", 1, None, "delivered/request", "output"),
        ("basis: aggregate", 4, None, "delivered/system", "aggregate"),
        ("basis: total", 4, None, "total/system", "total"),
        ("basis: total", 1, None, "total/request", "total"),
        ("basis: peak", 4, None, "peak/second", "peak"),
        ("basis: drafted", 1, None, "drafted/decode", "drafted"),
        ("basis: chunks", 1, None, "events/decode", "chunks"),
        ("basis: prefill", 1, None, "prefill", "prefill"),
        ("basis: per_gpu", 4, 4, "delivered/gpu", "per GPU"),
        ("per_gpu: true", 4, 4, "delivered/gpu", "per GPU"),
        ("per_gpu: true", 4, 1, "delivered/system", "per GPU, and there is one"),
        ("per_gpu: true", 1, 1, "delivered/request", "per GPU, and there is one"),
        ("per_gpu: false", 1, 4, "delivered/decode", "states no basis"),
        ("window: send_to_end", 1, None, "delivered/request", "its window: send to end"),
        ("window: run", 4, None, "delivered/system", "its window: run"),
        ("window: best_second", 4, None, "peak/second", "its window: best second"),
        ("window: first_to_last", 1, None, "delivered/decode", "states no basis"),
    ],
)
def test_the_basis_a_claim_is_judged_on(
    reported: str, streams: int, gpus: int | None, judged_on: str, words: str
) -> None:
    found, because = judged_basis(claim_of(reported), Load(streams, gpus))
    assert found == judged_on
    assert words in because
