"""`audit doctor` as a process: real start-up logs, the embedded server, and what goes wrong."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from auditor.capture.local import LocalServer

LOGS = Path(__file__).parents[1] / "enginelog" / "data"
HARDWARE = Path(__file__).parents[1] / "data" / "hardware"
SM120 = LOGS / "vllm-0.20-sm120-mtp3.log"
RULE = """
[[rules]]
id = "loaded"
title = "A model was loaded"
severity = "caveat"
consequence = "None."
remedy = "None."
sources = ["a test"]
[[rules.signs]]
lines = ['slow link']
"""


def audit(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("AUDIT_")}
    command = [sys.executable, "-m", "auditor", "doctor", *words]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False, env=env)


def document(*words: str, stdin: bytes = b"") -> dict[str, Any]:
    done = audit(*words, "--json", stdin=stdin)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (4 if found["findings"] else 0), done.stderr
    return found


def rules(found: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in found["findings"]}


def test_a_real_start_on_sm120_shows_its_traps_with_line_consequence_remedy_and_source() -> None:
    done = audit("--server-log", str(SM120))
    text = done.stdout.decode()
    assert done.returncode == 4, done.stderr
    assert "vllm 0.20.2rc1.dev249+glmkimirebase20260514; GPU not known: --gpu names it" in text
    number, line = next(
        (at, line) for at, line in enumerate(SM120.read_text().splitlines(), 1) if "ACCEPT_THRESHOLD_SINGLE" in line
    )
    assert f"  seen    line {number} and 1 more: Unknown vLLM environment variable detected: VLLM_SPEC_ACCEPT" in text
    assert line[:20] not in text
    assert "  so      " in text
    assert "  do      " in text
    assert "  source  https://github.com/local-inference-lab/rtx6kpro" in text
    assert "  if      whether its GPUs have compute capability 12" in text


def test_naming_the_gpu_settles_what_is_open() -> None:
    unsure = document("--server-log", str(SM120))
    sure = document("--server-log", str(SM120), "--gpu", "RTX PRO 6000")
    other = document("--server-log", str(SM120), "--gpu", "NVIDIA H200")
    assert any(finding["open"] for finding in unsure["findings"])
    assert not any(finding["open"] for finding in sure["findings"] + other["findings"])
    assert rules(sure) == rules(unsure)
    assert "auto-moe-backend" in rules(sure) - rules(other)
    assert (sure["compute_capability"], other["compute_capability"]) == ("12.0", "9.0")


def test_gpus_that_were_read_settle_it_as_well_and_show_their_own_state() -> None:
    named = document("--server-log", str(SM120), "--gpu", "RTX PRO 6000")
    read = document("--server-log", str(SM120), "--gpu-xml", str(HARDWARE / "pro6000-maxq.xml"))
    other = document("--server-log", str(SM120), "--gpu-xml", str(HARDWARE / "h200.xml"))
    assert (read["compute_capability"], other["compute_capability"]) == ("12.0", "9.0")
    assert rules(read) == rules(named)
    assert "auto-moe-backend" not in rules(other)
    assert not any(finding["open"] for finding in read["findings"] + other["findings"])
    assert read["facts"]["gpu_count"]["source"].startswith("saved nvidia-smi")
    assert {note["gravity"] for note in read["hardware"]} <= {"note"}
    done = audit("--server-log", str(SM120), "--gpu-xml", str(HARDWARE / "h200.xml"), "--ssh", "a")
    assert done.returncode == 2
    assert b"give one source of hardware facts" in done.stderr


@pytest.mark.parametrize("name", ["vllm-0.24-h200-draft.log", "vllm-0.24-h200-ngram.log"])
def test_honest_starts_show_nothing_grave(name: str) -> None:
    found = document("--server-log", str(LOGS / name), "--gpu", "NVIDIA H200")
    assert found["release"] == "0.24.0"
    assert {finding["severity"] for finding in found["findings"]} <= {"slow", "caveat"}


def test_a_log_through_standard_input_that_no_engine_wrote() -> None:
    line = b"x\nRuntimeError: Failed to initialize cutlass TMA WS grouped gemm. Error: Error Internal\n"
    found = document("--server-log", "-", stdin=line)
    assert rules(found) == {"cutlass-grouped-gemm"}
    assert found["findings"][0]["evidence"][0]["line"] == 2
    assert found["log"] == {"is_known": False, "lines": 2, "name": "standard input"}
    clean = audit("--server-log", "-", stdin=b"all is well\n")
    assert clean.returncode == 0
    assert b"No trap shows. What is not printed and not asked is not seen." in clean.stdout


def test_lines_in_colour_in_docker_json_and_of_any_bytes() -> None:
    coloured = b"\x1b[1;36m(EngineCore pid=1)\x1b[0m AllReduce \x1b[33mfusion pass is disabled\n"
    wrapped = json.dumps({"log": "AllReduce fusion pass is disabled\n", "stream": "stderr"}).encode() + b"\n"
    for line in (coloured, wrapped, b"\xff\x00AllReduce fusion pass is disabled\xff\n"):
        assert rules(document("--server-log", "-", stdin=line)) == {"allreduce-fusion-off"}


def test_a_hostile_log_ends() -> None:
    lines = [b"deepgemm " * 40_000, b"[Autotuner]: Skipping tactic " * 20_000, b"Decode batch" * 30_000, b"'" * 400_000]
    done = audit("--server-log", "-", stdin=b"\n".join(lines))
    assert done.returncode == 0, done.stderr


def test_rules_of_a_file_are_added_and_take_the_place_of_one_of_their_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(RULE)
    found = document("--server-log", "-", "--rules", str(file), stdin=b"slow link\n")
    assert rules(found) == {"loaded"}
    number = found["rules"]
    file.write_text(RULE.replace('id = "loaded"', 'id = "trust-remote-code"'))
    found = document("--server-log", "-", "--rules", str(file), stdin=b"slow link\ntrust_remote_code=True\n")
    assert found["rules"] == number - 1
    assert [finding["evidence"][0]["line"] for finding in found["findings"]] == [1]


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        ((), b"", "nothing to look at"),
        (("--server-log", "no-such-file"), b"", "no-such-file: cannot be read: No such file"),
        (("--server-log", "-"), b"", "-: is empty"),
        (("--server-log", "-"), gzip.compress(b"x", mtime=0), "is packed (gzip)"),
        (("--server-log", "-", "--gpu", "a toaster"), b"x", "--gpu a toaster: no compute capability is known for it"),
        (("--server-log", "-", "--rules", "no-such-rules"), b"x", "no-such-rules: cannot be read"),
        (("ftp://host",), b"", "ftp"),
    ],
)
def test_bad_input_is_one_line_and_two(words: tuple[str, ...], stdin: bytes, said: str) -> None:
    done = audit(*words, stdin=stdin)
    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert said in text
    assert text.count("\n") == 1
    assert done.stdout == b""


def test_a_bad_rule_is_told_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(RULE.replace("slow link", "slow.*link"))
    done = audit("--server-log", "-", "--rules", str(file), stdin=b"x\n")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"audit: {file}:2: rule loaded: signs.1.lines: * at character 6")


def test_a_server_that_is_not_there_is_five() -> None:
    done = audit("http://127.0.0.1:9")
    assert done.returncode == 5
    assert done.stderr.decode().count("\n") == 1


def test_the_embedded_server_is_asked(local_draft: LocalServer) -> None:
    found = document(local_draft.url)
    assert found["server"]["kind"] == "llamacpp"
    assert found["engines"] == ["llamacpp"]
    assert found["log"] is None
    assert not [finding for finding in found["findings"] if finding["severity"] in ("invalid", "crash")]


def test_the_embedded_server_and_its_log_with_acceptance_forced(local_draft: LocalServer) -> None:
    log = b"llama-server -m x.gguf --spec-synth-len 3\n"
    found = document(local_draft.url, "--server-log", "-", stdin=log)
    forced = next(finding for finding in found["findings"] if finding["rule"] == "forced-acceptance")
    assert forced["severity"] == "invalid"
    assert any(evidence["line"] == 1 for evidence in forced["evidence"])
