"""Samples of the GPUs during a run: how they are read, their energy, and what they say."""

import os
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from runs import Cells, account, make_run, recording

from auditor.audit import judge_folder
from auditor.capture.pcie import NOT_HERE, PcieSampler
from auditor.capture.telemetry import Sampler, read_line
from auditor.core.folder import TELEMETRY
from auditor.core.hardware.telemetry import Sample, energy_j, read_telemetry, telemetry_findings, windows_of
from auditor.errors import EvidenceError
from auditor.terms import Outcome

CELLS = Cells(subject=((recording("vllm-0.24-h200", "plain.chat"),), (recording("vllm-0.24-h200", "plain.chat"),)))
LINES = tuple(account(CELLS).ledger.exchanges)
SECOND = 10**9


def steady(watts: float, *, percent: float = 90, throttle: str = "none", gpus: int = 1) -> list[Sample]:
    """Ten samples a second over every round, and beside them others that are not of the rounds."""
    begin, end = windows_of(LINES)[0][0], windows_of(LINES)[-1][1]
    times = range(begin - SECOND, end + SECOND, SECOND // 10)
    shared = {"power_w": watts, "utilisation_percent": percent, "throttle": throttle}
    return [Sample(t_ns=t_ns, gpu=gpu, **shared) for t_ns in times for gpu in range(gpus)]


def test_a_line_of_nvidia_smi() -> None:
    found = read_line(5, b"0, 130.59, 9, 1980, 3201, 36, 43717, 0x0000000000000004\n")
    assert found == Sample(
        t_ns=5, gpu=0, power_w=130.59, utilisation_percent=9, sm_clock_mhz=1980, memory_clock_mhz=3201,
        temperature_c=36, memory_used_mib=43717, throttle="sw_power_cap",
    )  # fmt: skip
    absent = read_line(5, b"3, [N/A], 9, 1980, [N/A], 36, [N/A], [N/A]\n")
    assert (absent.gpu, absent.power_w, absent.memory_clock_mhz, absent.throttle) == (3, None, None, None)
    for other in (b"", b"Unable to determine the device handle\n", b"x, 1, 2, 3, 4, 5, 6, 0x0\n"):
        assert read_line(5, other) is None


def test_energy_is_power_over_time() -> None:
    def ramp(t_ns: int) -> Sample:
        return Sample(t_ns=t_ns, gpu=0, power_w=100 + t_ns / SECOND * 10)

    samples = [ramp(t_ns) for t_ns in range(0, 10 * SECOND + 1, SECOND // 2)]
    assert energy_j(samples, [(0, 10 * SECOND)]) == pytest.approx(1500)
    assert energy_j(samples, [(0, 2 * SECOND), (8 * SECOND, 10 * SECOND)]) == pytest.approx(220 + 380)
    assert energy_j([*samples, *(one.model_copy(update={"gpu": 1}) for one in samples)], [(0, 10 * SECOND)]) == 3000
    holed = [one for one in samples if not 3 * SECOND < one.t_ns < 5 * SECOND]
    assert energy_j(holed, [(0, 10 * SECOND)]) is None
    assert energy_j(samples, [(20 * SECOND, 21 * SECOND)]) is None
    assert energy_j([], [(0, SECOND)]) is None


def test_joules_per_delivered_token() -> None:
    (found,) = telemetry_findings(steady(400, gpus=2), LINES)
    seconds = sum(end - begin for begin, end in windows_of(LINES)) / SECOND
    tokens = sum(line.tally.delivered for line in LINES)
    assert found.outcome is Outcome.HOLDS
    said = float(found.sentence.split()[0].replace(",", ""))
    assert said == pytest.approx(800 * seconds / tokens, rel=1e-3)
    assert "of 2 GPUs, prefill included, host not" in found.sentence


def test_idle_and_slowed_gpus() -> None:
    idle = {one.id: one for one in telemetry_findings(steady(87, percent=0), LINES)}["telemetry-idle"]
    assert "0 % at most, 87 W on average" in idle.sentence
    slow = {one.id: one for one in telemetry_findings(steady(600, throttle="sw_power_cap, sync_boost"), LINES)}
    assert "100 % of" in slow["telemetry-throttle"].sentence
    assert slow["telemetry-throttle"].sentence.endswith(": sw_power_cap")
    clocked = [one.model_copy(update={"memory_clock_mhz": 13365.0, "sm_clock_mhz": 2617.0}) for one in steady(400)]
    clocks = {one.id: one for one in telemetry_findings(clocked, LINES)}["telemetry-clocks"]
    assert clocks.sentence.endswith("memory at 13,365 MHz and SMs at 2,617 MHz")
    (only,) = telemetry_findings([Sample(t_ns=1, gpu=0, power_w=1)], LINES)
    assert only.outcome is Outcome.NOT_AVAILABLE


def test_a_run_folder_with_telemetry(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", CELLS)
    (folder / TELEMETRY).write_bytes(b"".join(orjson.dumps(one.model_dump()) + b"\n" for one in steady(87, percent=1)))
    found = {one.id for one in judge_folder(folder).verdict.findings}
    assert {"telemetry-energy", "telemetry-idle"} <= found
    with pytest.raises(EvidenceError, match="line 1 is no sample"):
        read_telemetry(b"{}\n", "telemetry.jsonl")


def test_the_sampler_stamps_lines_on_the_clock_of_the_wire_log(tmp_path: Path) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text(
        f"#!{sys.executable}\nimport time\n"
        "while True:\n    print('0, 130.5, 9, 1980, 3201, 36, 43717, 0x0', flush=True)\n    time.sleep(0.01)\n"
    )
    script.chmod(0o755)
    begin = time.perf_counter_ns()
    sampler = Sampler(("env", f"PATH={tmp_path}{os.pathsep}{os.environ['PATH']}"))
    sampler.start()
    deadline = time.monotonic() + 60
    while len(sampler._lines) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    samples = read_telemetry(sampler.stop(), "x")
    assert len(samples) >= 3
    assert begin <= samples[0].t_ns <= samples[1].t_ns <= samples[2].t_ns <= time.perf_counter_ns()
    assert samples[0].power_w == 130.5
    assert [one.pcie_reason for one in samples if one.pcie_reason] == [NOT_HERE]


def test_pcie_traffic_has_its_own_pace_and_a_reason_where_it_has_none() -> None:
    busy = [Sample(t_ns=one.t_ns, gpu=0, pcie_rx_kbs=2500, pcie_tx_kbs=1e6) for one in steady(400)[::10]]
    found = {one.id: one for one in telemetry_findings([*steady(400), *busy], LINES)}["telemetry-pcie"]
    assert found.outcome is Outcome.HOLDS
    assert "2.5 MB/s to a GPU, 2.5 at most; 1,000 MB/s from a GPU" in found.sentence
    assert "(20 ms of every second)" in found.sentence
    assert "telemetry-pcie" not in {one.id for one in telemetry_findings(steady(400), LINES)}
    recorded = read_telemetry((Path(__file__).parents[1] / "data/hardware/h200-pcie.jsonl").read_bytes(), "h200")
    traffic = [one.pcie_rx_kbs for one in recorded if one.pcie_rx_kbs is not None]
    assert len(traffic) == 10  # once a second beside 95 of nvidia-smi, over the two calls that block
    assert sorted(traffic)[4] < 13_000 < 44_000_000 < sorted(traffic)[5]  # idle, and while the host copied to the card
    sampler = PcieSampler(period_s=0.01)
    sampler.start()
    deadline = time.monotonic() + 60
    while not sampler._samples and time.monotonic() < deadline:
        time.sleep(0.01)
    for one in sampler.stop():
        assert (one.pcie_rx_kbs is None) == (one.pcie_reason is not None)


def test_without_nvidia_smi_there_are_no_samples() -> None:
    sampler = Sampler(("/nowhere/ssh",))
    sampler.start()
    assert sampler.stop() == b""
    failing = Sampler(("false",))
    failing.start()
    assert failing.stop() == b""


@pytest.mark.local
def test_a_live_run_is_sampled(data: Path, tmp_path: Path, local_plain) -> None:
    xml = data / "hardware" / "pro6000-ws.xml"
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    loop = "while :; do echo '0, 400, 95, 2617, 13365, 60, 90112, 0x0'; sleep 0.05; done"
    tool.write_text(f"#!/bin/sh\ncase \"$*\" in *lms*) {loop};; *compute_cap*) exit 1;; *) cat '{xml}';; esac\n")
    tool.chmod(0o755)
    claim = tmp_path / "claim.yaml"
    claim.write_text("schema: 1\nid: small\ntitle: small\nreported: {value: 100}\n")
    words = ["--server", local_plain.url, "--tokens", "8", "--repeats", "1", "--quick", "--nvml", "--json"]
    words += ["--reports", str(tmp_path / "r"), "--database", f"sqlite:///{tmp_path / 'a.db'}"]
    command = [sys.executable, "-m", "auditor", "run", str(claim), *words, "--no-canaries"]
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 4, done.stderr
    verdict = orjson.loads(done.stdout)
    samples = read_telemetry((Path(verdict["folder"]) / TELEMETRY).read_bytes(), "x")
    assert samples
    assert {one["id"] for one in verdict["findings"]} & {"telemetry", "telemetry-energy"}
