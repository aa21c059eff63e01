"""`audit run --discriminate RUN`: the further measurement that parts rules which agree about a claim."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from runs import CLAIM_TEXT, Cells, account, make_run, recording

from auditor.audit import judge_folder
from auditor.capture.local import LocalServer
from auditor.cli import main
from auditor.core.counting.rounds import SECOND_NS
from auditor.core.explain.discrimination import discrimination_of
from auditor.core.explain.record import Alias, Discriminator, Explanation, Prediction
from auditor.core.folder import RunFolder
from auditor.errors import UsageError

DRAFT = replace(recording("llamacpp", "draft/chat_stream_tpt"), before=None, after=None)
CELLS = Cells(subject=((DRAFT,),) * 3, has_scrapes=False)


def claim() -> str:
    """A range that holds the decode rate and the same with the first token counted, n / (n - 1) times as much."""
    line = account(CELLS).ledger.exchanges[0]
    rate = (line.times.tokens_after_first or 0) * SECOND_NS / (line.times.decode_ns or 1)
    more = (line.tally.delivered or 0) * SECOND_NS / (line.times.decode_ns or 1)
    return CLAIM_TEXT.replace("{value: 130}", f"{{range: [{rate - 0.01:.2f}, {more + 0.01:.2f}]}}")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A judged run in which two rules meet the claim."""
    folder = make_run(tmp_path / "reports" / "recorded" / "recorded-1", CELLS, claim=claim())
    judge_folder(folder)
    return folder


def audit(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return int(ended.value.code or 0)


@pytest.mark.local
def test_it_measures_the_claims_load_and_the_one_that_parts_the_rules(
    first: Path, local_draft: LocalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = str(first.parents[1])
    few = ["--tokens", "16", "--repeats", "2", "--quick", "--database", f"sqlite:///{first.parents[2] / 'a.db'}"]
    code = audit(
        "run", str(first / "claim.yaml"), "--server", local_draft.url, "--discriminate", "recorded-1", "--no-canaries",
        "--reports", reports, *few, "--json",
    )  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert code == document["exit_code"]
    plan = RunFolder(Path(document["folder"])).plan()
    asked = plan.discriminates
    assert asked is not None
    assert (asked.run, asked.what, asked.plan_digest) == ("recorded-1", "length", RunFolder(first).run().plan_digest)
    cell = plan.cell("discriminating")
    assert (cell.max_tokens, cell.streams, cell.role) == (8, plan.subject.streams, "extra")
    assert plan.subject.max_tokens == 16
    found = next(one for one in document["findings"] if one["id"] == "rules-parted")
    assert found["outcome"] in ("holds", "fails")
    assert found["sentence"].startswith("with answers half as long, ")
    assert "(predicted " in found["sentence"]


def explained(*changes: str | None) -> Explanation:
    predictions = (Prediction(rule="a", value=1, low=1, high=1), Prediction(rule="b", value=2, low=2, high=2))
    found = [
        None if change is None else Discriminator(change=change, predictions=predictions, parts_all=True)
        for change in changes
    ]
    aliases = tuple(Alias(rules=("a", "b"), sentence="", discriminator=one) for one in found)
    return Explanation.model_construct(aliases=aliases)


@pytest.mark.parametrize(
    ("explanation", "words"),
    [
        (None, "no rules that agree"),
        (explained(), "no rules that agree"),
        (explained(None), "nothing that is known, which no client"),
        (explained("k = 2 instead of 3"), "is k = 2 instead of 3, which no client can change"),
    ],
)
def test_what_a_client_cannot_measure_is_said(explanation: Explanation | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        discrimination_of(explanation, "run-1", "0")


def test_the_first_that_a_client_can_make_is_taken() -> None:
    found = discrimination_of(explained("half the GPUs", "twice the streams"), "run-1", "0")
    assert (found.what, [one.rule for one in found.predictions]) == ("streams", ["a", "b"])


def test_a_run_of_another_claim_is_refused(first: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = first.parent / "other.yaml"
    other.write_text(claim() + "notes: another\n")
    reports = str(first.parents[1])
    code = audit(
        "run", str(other), "--server", "http://127.0.0.1:9", "--discriminate", "recorded-1", "--reports", reports
    )
    assert code == 2
    assert "the run is of another claim" in capsys.readouterr().err


def test_a_plan_without_it_keeps_its_digest(first: Path) -> None:
    assert b"discriminates" not in (first / "plan.json").read_bytes()
    plan = RunFolder(first).plan()
    asked = discrimination_of(explained("twice the streams"), "run-1", "0")
    changed = plan.model_copy(update={"discriminates": asked})
    assert changed.digest() != plan.digest()
    assert type(plan).from_json(changed.to_json()) == changed
