"""The GPUs on the timeline of the report, and what a run did not look at."""

import json
import re
import shutil
from pathlib import Path

import pytest
from made_runs import CLAIM_TEXT, Made, make_run

from auditor.audit import judge_folder
from auditor.core.folder import RUN, TELEMETRY, VERDICT, RunFolder
from auditor.core.hardware.telemetry import Sample
from auditor.core.judging.notlooked import NOT_NOTED
from auditor.core.judging.verdict import NotLookedAt, Verdict
from auditor.report.page import page_of
from auditor.report.telemetry import POINTS, telemetry_blocks
from auditor.report.text import markdown, terminal
from auditor.report.tokens import Answer, read_tokens

MS = 10**6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("telemetry") / "run", Made(CLAIM_TEXT))


def answer_of(folder: Path) -> Answer:
    run = RunFolder(folder)
    ledger = judge_folder(folder).account.ledger
    found = read_tokens(folder, ledger, run.plan().subject.key).answer
    assert found is not None
    return found


def sampled(answer: Answer, *, gpus: int = 1, period_ns: int = 10 * MS) -> list[Sample]:
    """From a second before the answer to a second after; slowed down in its second half, clocks always the same."""
    begin, length = answer.origin_ns, answer.events[-1].at_ns
    assert begin is not None
    return [
        Sample(
            t_ns=t_ns,
            gpu=gpu,
            power_w=100.0 + (t_ns - begin) / 1e9 + 50 * gpu,
            memory_clock_mhz=13365.0,
            throttle="sw_power_cap" if begin + length // 2 <= t_ns <= begin + length else "none",
        )
        for t_ns in range(begin - 1000 * MS, begin + length + 1000 * MS, period_ns)
        for gpu in range(gpus)
    ]


def test_each_thing_sampled_is_drawn_on_the_axis_of_the_tokens(folder: Path) -> None:
    answer = answer_of(folder)
    last = answer.events[-1].at_ns / 1e9
    head, power = telemetry_blocks(answer, sampled(answer, gpus=2), None)
    assert "a line for each of 2 GPUs" in head.paragraphs[0]
    assert "Shaded: slowed down by sw_power_cap" in head.paragraphs[0]
    assert "The same in every sample: Memory clock 13,365 MHz" in head.paragraphs[0]
    chart = power.chart
    assert chart is not None
    assert chart.options["domain"] == [0, last]
    (span,) = [row for row in chart.rows if row["row"] == "span"]
    assert span["t"] == pytest.approx(last / 2, abs=0.011)
    assert span["t2"] == pytest.approx(last, abs=0.011)
    points = [row for row in chart.rows if row["row"] == "point"]
    assert {row["gpu"] for row in points} == {0, 1}
    assert len(points) <= 2 * POINTS
    for row in points:
        assert 0 <= row["t"] <= last
        assert row["v"] == pytest.approx(100 + row["t"] + 50 * row["gpu"], abs=0.011)


def test_without_samples_the_reason_stands_there(folder: Path) -> None:
    answer = answer_of(folder)
    (none,) = telemetry_blocks(answer, (), "--no-telemetry was given")
    assert none.paragraphs == ("Not shown: --no-telemetry was given.",)
    (few,) = telemetry_blocks(answer, sampled(answer)[:3], None)
    assert "fewer than two samples" in few.paragraphs[0]


def test_the_page_shows_the_gpus_under_the_tokens(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "run")
    samples = sampled(answer_of(folder))
    (copy / TELEMETRY).write_bytes(b"".join(one.model_dump_json().encode() + b"\n" for one in samples))
    (copy / "manifest.json").unlink()
    judge_folder(copy)
    page = page_of(copy)
    assert page.index("Delivered tokens over time") < page.index("The GPUs under this answer")
    assert "Power within the answer: " in page
    assert ">Power, W<" in page


def left_out(folder: Path) -> dict[str, str]:
    found = RunFolder(folder).record(VERDICT, Verdict).not_looked_at
    assert all(isinstance(one, NotLookedAt) for one in found)
    return {one.part: one.why for one in found}


def test_what_was_not_looked_at_is_said_with_its_reason(folder: Path, tmp_path: Path) -> None:
    assert left_out(folder)["GPUs of the server"] == NOT_NOTED
    copy = shutil.copytree(folder, tmp_path / "run")
    record = json.loads((copy / RUN).read_text())
    reasons = {"hardware": "none of --nvml and the like was given", "telemetry": "--no-telemetry was given",
               "traps": "--no-traps was given"}  # fmt: skip
    (copy / RUN).write_text(json.dumps({**record, "left_out": reasons}))
    (copy / "manifest.json").unlink()
    judge_folder(copy)
    found = left_out(copy)
    assert found["GPUs of the server"] == reasons["hardware"]
    assert found["GPUs during the run"] == reasons["telemetry"]
    assert found["known traps"] == reasons["traps"]
    assert "trap" not in {one.id.split("-")[0] for one in RunFolder(copy).record(VERDICT, Verdict).findings}
    words = re.sub(r"\s+", " ", terminal(copy, 100))
    assert "Not looked at: GPUs of the server (none of --nvml and the like was given); GPUs during the run" in words
    assert "- Not looked at: GPUs of the server; GPUs during the run; " in markdown(copy)
    assert len(markdown(copy).splitlines()) <= 15
    page = page_of(copy)
    assert "What this run did not look at, and why" in page
    assert "--no-traps was given" in page
