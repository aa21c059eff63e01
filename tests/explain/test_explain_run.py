"""`audit explain` and `audit bases` on a run made of recorded streams of a real server, through the real commands."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import CLAIM_TEXT, Cells, archive, halved, make_run, recording

from auditor.audit import judge_folder
from auditor.cli import main
from auditor.core.explain.record import Explanation

ROOT = Path(__file__).parents[2]
FORK = str(ROOT / "claims" / "fork-130tps.yaml")
H200 = "vllm-0.24-h200"
COUNTERS = (
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
    "vllm:time_to_first_token_seconds_count",
    "vllm:inter_token_latency_seconds_count",
    "vllm:request_success_total",
)


def claim_of(number: str) -> str:
    return CLAIM_TEXT.replace("130 tok/s on one server", f"{number} tok/s").replace("value: 130", f"value: {number}")


def draft_run(folder: Path, *, claim: str, repeats: int = 3) -> Path:
    """The model as its own draft at k = 3, one stream of 400 tokens on one H200: all drafts accepted, and slower."""
    stream = halved(recording(H200, "draft.chat"), archive(H200)["draft.metrics"].decode(), COUNTERS)
    path = make_run(folder, Cells(subject=((stream,),) * repeats), claim=claim)
    judge_folder(path)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draft_run(tmp_path_factory.mktemp("runs") / "draft", claim=claim_of("219"))


@pytest.fixture
def audit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in a folder of its own; its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUDIT_DATABASE_URL", raising=False)

    def ran(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return ran


def verdict(run: Path) -> dict:
    return json.loads((run / "verdict.json").read_text())


def test_219_on_the_draft_run_matches_delivered_and_drafted_and_is_not_proven(run: Path) -> None:
    """400 delivered and 300 drafted in 3.1976 s: 125.1 delivered, 218.9 of both."""
    found = verdict(run)
    assert found["matching"] == ["delivered+drafted/request"]
    explanation = Explanation.model_validate(found["explanation"])
    assert explanation.matches == ("delivered+drafted/request",)
    assert explanation.explained_by == ()
    said = [words for words in explanation.words if "matches" in words]
    assert said == [
        "219 tok/s matches delivered + drafted, over the request (218.9 tokens/s); not proven without a witness."
    ]
    assert found["kind"] != "miscounted"


def test_the_verdict_holds_the_chance_and_what_would_have_to_be_true(run: Path) -> None:
    found = verdict(run)["explanation"]
    assert found["tried"] > 20
    assert 0 < found["chance"] < 0.25
    sentences = {one["id"]: one for one in found["backwards"]}
    # all drafts are accepted: 4 tokens per step, so verified positions are what was delivered
    assert sentences["verified"]["is_possible"] is False
    assert "4 tokens per step" in sentences["verified"]["why"]
    assert sentences["streams"]["is_possible"] is True
    assert "2 streams at 110 tok/s each" in sentences["streams"]["sentence"]
    assert sentences["window"]["is_possible"] is False


def test_one_repeat_has_no_interval_and_decides_nothing(tmp_path: Path) -> None:
    found = verdict(draft_run(tmp_path / "once", claim=claim_of("219"), repeats=1))
    assert found["matching"] == []
    assert found["explanation"]["matches_once"] == ["delivered+drafted/request"]


def test_explain_lays_another_claim_beside_a_run(audit, run: Path, tmp_path: Path) -> None:
    (tmp_path / "made-up.yaml").write_text(claim_of("219"))
    code, out, err = audit("explain", "made-up.yaml", "--run", run)
    assert (code, err) == (0, "")
    assert "219 tok/s matches delivered + drafted, over the request (218.9 tokens/s); not proven" in " ".join(
        out.split()
    )
    code, out, _ = audit("explain", FORK, "--run", run, "--json")
    document = json.loads(out)
    assert (code, document["claim"], len(document["explanations"])) == (0, "fork-130tps", 1)
    # four GPUs, as the claim states, since the server did not tell
    assert "delivered/gpu" in {one["id"] for one in document["explanations"][0]["readings"]}


@pytest.mark.usefixtures("wide")
def test_bases_prints_every_rule_with_its_factor_and_what_is_missing(audit, run: Path) -> None:
    code, out, err = audit("bases", run)
    assert (code, err) == (0, "")
    row = next(line for line in out.splitlines() if line.strip().startswith("delivered+drafted/request"))
    assert row.split()[1] == "218.9"
    assert row.endswith("  N + D")
    assert "  delivered/decode            *  " in out
    assert "needs lines of the engine's log within the round: log/mean, log/best" in out
    code, out, _ = audit("bases", run, "--json")
    document = json.loads(out)
    assert document["cell"] == "subject"
    rules = {one["id"]: one for one in document["bases"]}
    assert rules["delivered+drafted/request"]["state"] == "meets"
    assert rules["delivered/decode"]["factor"][0] > 1.7
    assert rules["log/best"]["estimate"] is None
    assert rules["log/best"]["reason"]


@pytest.mark.usefixtures("wide")
def test_the_example_of_the_disputed_claim_prints_every_figure(audit) -> None:
    numbers = ("--delivered", "39.6", "--draft-tokens", "2", "--acceptance", "0.61:0.85")
    code, out, err = audit("explain", FORK, *numbers)
    assert (code, err) == (0, "")
    out = " ".join(out.split())
    for figure in ("53.51", "59.94", "64.92", "75.28", "82.88", "49.59", "68.6", "39.6 x 3 = 118.8", "87.91", "106.9"):
        assert figure in out, figure
    assert "39.6 delivered tokens per second" in out
    assert "39.6 events (steps) per second" in out
    words = " ".join(out.split())
    assert "14 % of numbers from 7.92 to 198 tok/s would match one of the 3 rules that can match." in words
    assert "18 of them are too wide to match a number" in words
    assert "log-uniform" not in out
    assert "log-uniform" in audit("explain", FORK, *numbers, "--full")[1]
    code, out, _ = audit("explain", FORK, *numbers, "--chunks", "--json")
    assert [one["given"].split(",")[0] for one in json.loads(out)["explanations"]] == ["39.6 events (steps) per second"]
    code, out, _ = audit("explain", FORK, *numbers, "--acceptance-definition", "per_drafted")
    assert "53.51" in out
    assert "64.92" not in out


def test_a_rate_is_read_as_it_is_written(audit) -> None:
    for written, low, high in (("39.6", 39.55, 39.65), ("50", 49.5, 50.5), ("39.6:40.1", 39.6, 40.1)):
        _, out, _ = audit("explain", FORK, "--delivered", written, "--json")
        delivered = json.loads(out)["explanations"][0]["delivered"]
        assert (delivered["low"], delivered["high"]) == (low, high)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --run RUN or --delivered RATE"),
        (("--delivered", "39.6", "--run", "x"), "give either --run RUN or --delivered RATE"),
        (("--delivered", "fast"), "--delivered fast: not a number"),
        (("--delivered", "nan"), "--delivered nan: not a number"),
        (("--delivered", "-1"), "--delivered -1: not a number"),
        (("--delivered", "0"), "must be more than 0"),
        (("--delivered", "0:0"), "must be more than 0"),
        (("--delivered", "40:39"), "must begin with the smaller number"),
        (("--delivered", "1:2:3"), "not a number"),
        (("--delivered", "39.6", "--acceptance", "0.7"), "--acceptance goes with --draft-tokens"),
        (("--delivered", "39.6", "--draft-tokens", "2", "--acceptance", "61"), "61 % is 0.61"),
        (("--delivered", "39.6", "--chunks"), "give --draft-tokens and --acceptance"),
        (("--delivered", "39.6", "--cell", "plain"), "--cell goes with --run"),
        (("--delivered", "39.6", "--row", "none"), "has no measurement 'none'"),
        (("--run", "nowhere"), "there is no run nowhere"),
    ],
)
def test_bad_input_is_one_line_and_code_2(audit, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = audit("explain", FORK, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_numbers_do_not_go_with_a_run(audit, run: Path) -> None:
    for option in ("--streams", "--draft-tokens", "--output-tokens"):
        code, _, err = audit("explain", FORK, "--run", run, option, "4")
        assert code == 2
        assert f"{option} goes with --delivered" in err
    code, _, err = audit("explain", FORK, "--run", run, "--chunks")
    assert (code, "--chunks goes with --delivered" in err) == (2, True)


def test_a_row_without_a_number_cannot_be_explained(audit) -> None:
    matrix = str(ROOT / "claims" / "sm120-16-configs.yaml")
    code, _, err = audit("explain", matrix, "--row", "tensorrt-llm", "--delivered", "40")
    assert code == 2
    assert "the claim states no number" in err
    code, _, err = audit("explain", matrix, "--delivered", "40")
    assert code == 2
    assert "choose one with --row" in err


def test_a_cell_that_is_not_there_and_a_run_that_was_not_judged(audit, run: Path, tmp_path: Path) -> None:
    code, _, err = audit("bases", run, "--cell", "plain")
    assert (code, "choose one of: subject" in err) == (2, True)
    stream = recording(H200, "plain.chat")
    fresh = make_run(tmp_path / "fresh", Cells(subject=((stream,),), has_scrapes=False))
    code, _, err = audit("bases", fresh)
    assert (code, "`audit judge` makes its ledger" in err) == (2, True)


def test_a_rehearsal_is_said_to_be_one(audit, tmp_path: Path) -> None:
    stream = recording("llamacpp", "draft/chat_stream_tpt")
    path = make_run(tmp_path / "rehearsal", Cells(subject=((stream,),)), rehearsal=True)
    judge_folder(path)
    _, out, _ = audit("explain", FORK, "--run", path)
    assert "This was not measured on what the claim is about" in " ".join(out.split())
