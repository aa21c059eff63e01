"""The verdict `miscounted`: only with a witness, below `unlabelled` and above the number itself."""

from pathlib import Path

import pytest
from runs import CLAIM_TEXT, Cells, account, facts_of, make_run, plan_of, recording

from auditor.core.bases import BasisValue
from auditor.core.claim.claim import parse_claim
from auditor.core.explain.record import Witness, WitnessFigure
from auditor.core.folder import RunFolder
from auditor.core.judging.decide import Decision, decide
from auditor.core.judging.judge import Beside, judge
from auditor.core.judging.verdict import Claimed, Finding, RunSummary
from auditor.core.stats import Estimate
from auditor.terms import Outcome, VerdictKind

PLAN = plan_of(Cells(subject=((recording("vllm-0.24-h200", "draft.chat"),),) * 3))


def value(identifier: str, low: float, high: float, *, honest: bool) -> BasisValue:
    estimate = Estimate(value=(low + high) / 2, low=low, high=high, n=3)
    return BasisValue(id=identifier, name=identifier, formula="x", is_honest=honest, estimate=estimate)


def claimed(basis: str | None = None) -> Claimed:
    return Claimed(claim="c", case="c", title="t", text="219 tok/s", low=218.5, high=219.5, basis=basis,
                   judged_on="delivered/decode", judged_because="")  # fmt: skip


DELIVERED = value("delivered/decode", 124, 126, honest=True)
BOTH = value("delivered+drafted/request", 217, 221, honest=False)
TOTAL = value("total/request", 217, 221, honest=True)
FAILED = Finding(id="f", outcome=Outcome.FAILS, gravity="thin", sentence="too short")


def decided(
    *bases: BasisValue,
    backed: tuple[str, ...] = (),
    findings: tuple[Finding, ...] = (),
    delivered: BasisValue = DELIVERED,
    basis: str | None = None,
) -> Decision:
    matching = [one.id for one in bases]
    return decide(claimed(basis), delivered, findings, (), matching, (delivered, *bases), PLAN, backed=backed)


def test_a_match_alone_never_makes_it() -> None:
    assert decided(BOTH).kind is VerdictKind.NOT_REPRODUCED


def test_a_witness_makes_it() -> None:
    found = decided(BOTH, backed=(BOTH.id,))
    assert found.kind is VerdictKind.MISCOUNTED
    assert found.sentence == (
        "miscounted: the 219 tok/s claimed is delivered+drafted/request, as a witness shows; "
        "delivered 125 tok/s (124 to 126, 3 repeats)"
    )
    assert int(found.kind.exit_code) == 3


def test_thin_evidence_comes_before_it() -> None:
    assert decided(BOTH, backed=(BOTH.id,), findings=(FAILED,)).kind is VerdictKind.INCONCLUSIVE


def test_an_unstated_basis_with_an_honest_reading_comes_before_it() -> None:
    assert decided(BOTH, TOTAL, backed=(BOTH.id,)).kind is VerdictKind.UNLABELLED
    assert decided(BOTH, TOTAL, backed=(BOTH.id,), basis="decode").kind is VerdictKind.MISCOUNTED


def test_a_stated_basis_that_a_witness_contradicts_is_miscounted() -> None:
    assert decided(TOTAL, backed=(TOTAL.id,), basis="decode").kind is VerdictKind.MISCOUNTED


def test_a_witness_for_what_was_stated_changes_nothing() -> None:
    same = value("delivered/decode", 218, 220, honest=True)
    assert decided(delivered=same, backed=(same.id,), basis="decode").kind is VerdictKind.REPRODUCED


@pytest.mark.parametrize("has_witness", [False, True])
def test_the_judge_takes_witnesses_and_the_verdict_holds_them(tmp_path: Path, has_witness: bool) -> None:
    text = CLAIM_TEXT.replace("value: 130", "value: 125.1")
    claim = parse_claim(text, "claim.yaml")
    cells = Cells(subject=((recording("vllm-0.24-h200", "draft.chat"),),) * 3, has_scrapes=False)
    witness = Witness(
        rule="requested/request",
        kind="claimant",
        artefact_sha256="cd" * 32,
        origin="the claimant's result file",
        at="2026-03-12",
        figures=(WitnessFigure(text="125.1", low=125.05, high=125.15),),
    )
    folder = RunFolder(make_run(tmp_path / "run", cells, claim=text))
    record = folder.run()
    summary = RunSummary.model_construct(run=record.run, server="http://127.0.0.1:1")
    found = judge(claim, claim.case(None), folder.plan(), facts_of(cells), account(cells), summary,
                  Beside(witnesses=(witness,) if has_witness else ()))  # fmt: skip
    assert found.explanation is not None
    assert "requested/request" in found.matching
    assert found.matching == found.explanation.matches
    assert found.explanation.explained_by == (("requested/request",) if has_witness else ())
    assert found.explanation.witnesses == ((witness,) if has_witness else ())
