"""What servers really sent, as curl, a browser and we ourselves recorded it."""

import re
from pathlib import Path

import orjson
import pytest

from auditor.core.imports.format import File
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Grade, Request, Result
from auditor.review.imports import take_in
from auditor.terms import Rung

DATA = Path(__file__).resolve().parents[1] / "data"


def read(path: Path) -> Result:
    ((imported, _),) = read_files([File(path.name, path.read_bytes())])
    (result,) = imported.results
    assert result.grade is Grade.RAW
    return result


def request(path: Path) -> Request:
    (found,) = read(path).requests
    return found


@pytest.mark.parametrize("name", ["curl-headers.txt", "curl-verbose.txt", "curl-ts.txt"])
def test_curls_output_counts_what_the_server_counted(name: str) -> None:
    found = request(DATA / "imports" / "curl" / name)
    assert (found.output_tokens, found.rung, found.prompt_tokens) == (48, Rung.FINAL_USAGE, 42)
    assert found.counts[Rung.EVENTS] == 48


def test_without_times_there_is_no_rate() -> None:
    result = read(DATA / "imports" / "curl" / "curl-headers.txt")
    assert quantity(Measured(result), "delivered/decode", "tokens/s") is None
    assert "time of each event" in result.missing[0]


def test_times_before_each_line_give_the_decode_rate_and_no_ttft() -> None:
    found = request(DATA / "imports" / "curl" / "curl-ts.txt")
    assert found.ttft_ns is None
    assert found.events_ns is not None
    assert found.events_ns[0] == 0
    rate = quantity(Measured(read(DATA / "imports" / "curl" / "curl-ts.txt")), "delivered/decode", "tokens/s")
    assert rate == pytest.approx(47e9 / found.events_ns[-1])


def test_without_usage_only_events_are_counted() -> None:
    assert request(DATA / "imports" / "curl" / "curl-no-usage.txt").rung is Rung.EVENTS


def test_a_browsers_har_holds_the_answer_and_its_duration() -> None:
    path = DATA / "imports" / "har" / "chromium.har"
    found = request(path)
    entry = orjson.loads(path.read_bytes())["log"]["entries"][-1]
    assert (found.output_tokens, found.requested_tokens) == (48, 48)
    assert found.e2e_ns == round(entry["time"] * 1e6)
    assert found.events_ns is None


def test_what_the_server_drafted_is_read_from_its_last_event() -> None:
    path = DATA / "imports" / "curl" / "curl-headers.txt"
    timings = re.search(r'"draft_n":(\d+),"draft_n_accepted":(\d+)', path.read_text())
    assert timings is not None
    ((taken,), _) = take_in(str(path), None, 0)
    drafts = taken.imported.results[0].requests[0].drafts
    assert drafts is not None
    assert (drafts.drafted, drafts.accepted) == (int(timings[1]), int(timings[2]))


@pytest.mark.parametrize("kind", ["draft", "ngram"])
def test_a_wire_log_gives_the_counts_of_its_runs_ledger(kind: str) -> None:
    path = DATA / "h200" / kind / "wire.zst"
    ((imported, _),) = read_files([File(path.name, path.read_bytes(), path)])
    for result in imported.results:
        ids = [one.counts[Rung.TOKEN_IDS] for one in result.requests]
        usage = [one.counts[Rung.FINAL_USAGE] for one in result.requests]
        assert ids == usage
        assert all(one.output_tokens == one.requested_tokens for one in result.requests)
