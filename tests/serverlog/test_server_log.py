"""The measured server's own log beside a run: real servers, real runs, real files."""

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from auditor import audit
from auditor.audit import Result, judge_folder
from auditor.capture.local import LocalServer, local_settings, start_local
from auditor.capture.striking import Striker
from auditor.core.claim.claim import parse_claim
from auditor.core.enginelogs.startup import Startup
from auditor.core.folder import RunFolder
from auditor.core.judging.verdict import Finding
from auditor.core.plan.making import Wishes
from auditor.core.plan.prompts import Message, Prompt
from auditor.errors import EvidenceError, UsageError
from auditor.job import Job, ServerChoice
from auditor.review import runlog
from auditor.review.handedin import add_server_log
from auditor.review.runlog import Border, LogTail, keep
from auditor.terms import Outcome, VerdictKind

CLAIM = "schema: 1\nid: small\ntitle: A small claim\nreported: {value: 100, basis: decode, streams: 1}\n"
DATA = Path(__file__).parents[1] / "enginelog" / "data"


def run(server: LocalServer, folder: Path, log: Path | None, *, repeats: int = 2, tokens: int = 24) -> Result:
    """A run on a server that is known by its address alone."""
    claim = parse_claim(CLAIM, "claim.yaml")
    prompt = Prompt(
        id="p", kind="reviewer", origin="reviewer", messages=(Message(role="user", content="Count to a hundred."),)
    )
    job = Job(
        claim=claim,
        case=claim.case(None),
        claim_bytes=CLAIM.encode(),
        servers=(ServerChoice("subject", server.url),),
        wishes=Wishes(tokens=tokens, repeats=repeats, prompts=(prompt,), suite=False),
        run="run-1",
        started_ns=1796113200000000000,
        seed=1,
        folder=folder / "run",
        command="audit run claim.yaml",
        server_log=None if log is None else str(log),
    )
    return audit.run(job)


def finding(result: Result, name: str) -> Finding:
    return next(one for one in result.verdict.findings if one.id == name)


@pytest.fixture(scope="module")
def honest(local_draft: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run on a server that drafts honestly, with its log."""
    return run(local_draft, tmp_path_factory.mktemp("honest"), local_draft.log)


@pytest.fixture(scope="module")
def forced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server whose acceptance is forced: no endpoint tells."""
    settings = replace(local_settings(speculation="draft", context=1024), synthetic_length=3.0)
    with start_local(settings, log=tmp_path_factory.mktemp("forced") / "server.log") as server:
        yield server


@pytest.mark.local
def test_the_log_says_what_the_client_received(honest: Result) -> None:
    agreed = finding(honest, "server-log")
    assert agreed.outcome is Outcome.HOLDS, agreed.sentence
    assert agreed.sentence == "48 tokens in 2 lines of the server's log, 48 received"
    rates = {one.id: one.estimate for one in honest.verdict.bases if one.id.startswith("log/")}
    assert rates["log/mean"] is not None
    assert rates["log/mean"].n == 2
    delivered = next(one.estimate for one in honest.verdict.bases if one.id == "delivered/decode")
    assert delivered is not None
    assert rates["log/mean"].value == pytest.approx(delivered.value, rel=0.5)


@pytest.mark.local
def test_facts_that_no_endpoint_tells_come_from_the_log_with_their_line(honest: Result) -> None:
    timeline = RunFolder(honest.folder).timeline()
    assert timeline is not None
    fact = timeline.log.facts["speculation"]
    assert (fact.value, str(fact.source).startswith("server log line ")) == (True, True)
    assert "speculation on (server log line" in finding(honest, "server-log-facts").sentence
    assert finding(honest, "honest-acceptance").outcome is not Outcome.FAILS


@pytest.mark.local
def test_the_folder_is_judged_without_the_file(honest: Result, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(honest.folder, copy)
    for name in ("verdict.json", "ledger.json"):
        (copy / name).unlink()
    judge_folder(copy)
    assert (copy / "verdict.json").read_bytes() == (honest.folder / "verdict.json").read_bytes()
    assert "server.log" in json.loads((copy / "manifest.json").read_bytes())
    (copy / "server.log").write_bytes(b"another\n")
    with pytest.raises(EvidenceError, match="restore the file"):
        judge_folder(copy)


@pytest.mark.local
def test_forced_acceptance_is_found_in_the_log_and_nowhere_else(forced: LocalServer, tmp_path: Path) -> None:
    seen = run(forced, tmp_path / "with", forced.log)
    found = finding(seen, "honest-acceptance")
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "invalid")
    assert found.sentence.startswith("acceptance is synthetic (server log line ")
    assert seen.verdict.kind is VerdictKind.INVALID_OUTPUT
    blind = run(forced, tmp_path / "without", None)
    assert finding(blind, "honest-acceptance").outcome is Outcome.NOT_AVAILABLE
    assert blind.verdict.kind is not VerdictKind.INVALID_OUTPUT
    assert finding(blind, "server-log").outcome is Outcome.NOT_APPLICABLE


@pytest.mark.local
def test_a_log_that_cannot_be_read_costs_nothing_but_itself(local_plain: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        run(local_plain, tmp_path, tmp_path / "none.log")
    assert not (tmp_path / "run").exists()
    empty = tmp_path / "empty.log"
    empty.touch()
    result = run(local_plain, tmp_path, empty, repeats=1, tokens=8)
    assert finding(result, "server-log").sentence == "no line of the server's log lies whole within a measured round"


VLLM = (
    b"(APIServer pid=1) INFO 12-01 08:18:%02d [loggers.py:273] Engine 000: Avg prompt throughput: 9.5 tokens/s, Avg "
    b"generation throughput: 73.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%%, Prefix cache "
    b"hit rate: 0.0%%\n"
)
ARGUMENTS = b"(APIServer pid=1) INFO 12-01 08:16:46 [utils.py:240] non-default args: {'model': 'm', %b}\n"
FORCED = b"'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3, 'rejection_sample_method': 'synthetic'}"
PLAIN_DRAFTS = b"'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}"


def kept(data: bytes, *sizes: int | None, strike: runlog.Strike = bytes, at: tuple[int, ...] = ()) -> tuple:
    times = at or (0,) * len(sizes)
    borders = [Border("subject", i, size, t) for i, (size, t) in enumerate(zip(sizes, times, strict=True))]
    return keep(io.BytesIO(data), "s.log", borders, "subject", "vllm", strike)


def test_only_lines_of_the_run_with_figures_are_kept_and_keys_struck() -> None:
    prompt = b"INFO 12-01 08:18:09 [logger.py:40] Received request chatcmpl-1: prompt: 'my secret'\n"
    before = ARGUMENTS % PLAIN_DRAFTS + VLLM % 1
    named = (VLLM % 3).replace(b"Engine 000", b"sk-abcdef123456 Engine 000")
    data = before + VLLM % 2 + prompt + named + VLLM % 4
    end = len(data) - len(VLLM % 4)
    log, text = kept(data, len(before), end, strike=Striker(["sk-abcdef123456"]).in_bytes)
    assert text == VLLM % 2 + (VLLM % 3).replace(b"Engine 000", b"*" * 15 + b" Engine 000")
    assert (log.left_out, log.is_cut, log.reason) == (1, False, None)
    assert [(one.first, one.end) for one in log.rounds] == [(1, 3)]
    assert log.facts["draft_tokens"].source == "server log line 1, launch arguments"


def test_what_is_kept_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runlog, "MOST_BYTES", 3 * len(VLLM % 1))
    data = b"".join(VLLM % second for second in range(9))
    log, text = kept(data, 0, len(data))
    assert (log.is_cut, text.count(b"\n")) == (True, 3)


def test_a_file_that_was_replaced_is_laid_beside_no_round() -> None:
    log, text = kept(VLLM % 1, 500, 900, 100)
    assert (log.rounds, text) == ((), b"")
    assert log.reason == "the file became smaller during the run"


def test_lines_with_a_zone_are_laid_beside_rounds_by_their_time() -> None:
    """`docker logs -t` puts a date in front of each."""
    stamps = [b"2026-12-01T08:18:%02d.5Z " % second + VLLM % second for second in range(10, 16)]
    second, zero = 10**9, 1796113080 * 10**9
    log, text = kept(
        b"".join(stamps), None, None, None, at=(zero + 11 * second, zero + 13 * second, zero + 15 * second)
    )
    assert text == b"".join(stamps[1:5])
    assert [(one.repeat, one.first, one.end) for one in log.rounds] == [(0, 1, 3), (1, 3, 5)]
    undated, _ = kept(VLLM % 1, None, None, at=(0, 1))
    assert undated.rounds == ()
    assert "no full date" in str(undated.reason)


def test_an_earlier_start_says_nothing_of_this_one() -> None:
    later = Startup("vllm")
    lines = (ARGUMENTS % FORCED, VLLM % 1, ARGUMENTS % PLAIN_DRAFTS)
    for number, line in enumerate((b"version 0.24.0 \xe2\x96\x88\n", *lines), start=1):
        later.add(number, line)
    assert "acceptance_mode" not in later.facts
    assert later.facts["draft_tokens"].value == 3
    forced = Startup("vllm")
    for number, line in enumerate((ARGUMENTS % PLAIN_DRAFTS, VLLM % 1, ARGUMENTS % FORCED, VLLM % 2), start=1):
        forced.add(number, line)
    assert forced.facts["acceptance_mode"].value == "synthetic"
    assert forced.facts["acceptance_mode"].source == ("server log line 3, launch arguments, rejection_sample_method")


def test_a_real_start_of_a_fork_is_read_in_one_piece() -> None:
    startup = Startup("vllm")
    for number, line in enumerate((DATA / "vllm-0.20-sm120-mtp3.log").read_bytes().splitlines(), start=1):
        startup.add(number, line)
    assert startup.starts == 1
    assert startup.facts["draft_tokens"].value == 3


@pytest.mark.local
def test_a_log_is_added_after_the_run_by_its_times(local_plain: LocalServer, tmp_path: Path) -> None:
    result = run(local_plain, tmp_path, None, repeats=1, tokens=8)
    log = tmp_path / "late.log"
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        add_server_log(result.folder, str(tmp_path / "missing.log"))
    shutil.copy(local_plain.log, log)
    add_server_log(result.folder, str(log))
    again = judge_folder(result.folder)
    assert "no full date with a time zone" in finding(again, "server-log").sentence
    assert finding(again, "server-log-facts").outcome is Outcome.HOLDS
    with pytest.raises(UsageError, match="has its server's log already"):
        add_server_log(result.folder, str(log))


def test_the_file_is_looked_for_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        LogTail(str(tmp_path))
