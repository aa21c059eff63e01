"""`audit hardware` from each door."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def audit(*words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "auditor", "hardware", *words]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": path}, check=False)


def program(folder: Path, name: str, text: str) -> str:
    """A program of that name, found before any other."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def answers(data: Path, name: str = "pro6000-ws") -> str:
    """What nvidia-smi answers, by the words it is asked with."""
    return f"""case "$*" in
*"-q -x"*) cat '{data / "hardware" / f"{name}.xml"}';;
*compute_cap*) printf 'index, compute_cap\\n0, 12.0\\n';;
*p2p*) printf ' GPU0 GPU1\\n GPU0 X OK\\n GPU1 OK X\\n';;
esac"""


def test_a_saved_file(data: Path) -> None:
    done = audit("--gpu-xml", str(data / "hardware" / "pro6000-ws.xml"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["hardware"]["gpus"][0]["facts"]["architecture"]["value"] == "SM120"
    assert [one["id"] for one in found["findings"]] == ["hardware-clocks"]
    assert "note: the memory of GPU 0 runs at 13,365 MHz" in done.stderr
    assert str(data) not in done.stdout


def test_ssh_is_asked_without_a_shell_or_a_question(data: Path, tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "ssh", f"""echo "$@" >> '{tmp_path / "asked"}'\n{answers(data)}""")
    done = audit("--ssh", "me@gpu-box", "--json", path=path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["hardware"]
    capability = found["gpus"][0]["facts"]["compute_capability"]
    assert capability == {
        "value": "12.0",
        "source": "ssh nvidia-smi -q -x, --query-gpu=compute_cap compute_cap",
        "reason": None,
    }
    assert "gpu-box" not in done.stdout
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "-o BatchMode=yes -o ConnectTimeout=10 -T -- me@gpu-box nvidia-smi -q -x"


def test_nvidia_smi_of_this_machine(data: Path, tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "nvidia-smi", answers(data, "pro6000-server-x4"))
    done = audit("--json", path=path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["hardware"]
    assert len(found["gpus"]) == 4
    assert found["p2p"] == {"value": "all", "source": "nvidia-smi topo -p2p r", "reason": None}


def test_an_exporter(data: Path, serve) -> None:
    url = serve({"/metrics": (200, (data / "hardware" / "dcgm.txt").read_bytes())})
    for address in (url, f"{url}/metrics"):
        done = audit("--exporter", address, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["hardware"]["source"] == "DCGM exporter"


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (2, ["--gpu-xml", "/nowhere.xml"], "/nowhere.xml: cannot be read"),
        (2, ["--gpu-xml", __file__], "is no"),
        (2, ["--ssh", "-oProxyCommand=touch x"], "is no host for ssh"),
        (2, ["--ssh", "a b"], "is no host for ssh"),
        (2, ["--ssh", "a", "--exporter", "http://b"], "give one source"),
        (5, ["--exporter", "http://127.0.0.1:1"], "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_asked_is_one_line(code: int, words: list[str], said: str) -> None:
    done = audit(*words)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'ssh: connect to host gpu-box port 22: refused' >&2; exit 255", "cannot be reached"),
        ("echo 'bash: nvidia-smi: command not found' >&2; exit 127", "command not found"),
        ("exit 9", "exit code 9"),
    ],
)
def test_a_machine_that_does_not_answer(tmp_path: Path, script: str, said: str) -> None:
    done = audit("--ssh", "gpu-box", path=program(tmp_path / "bin", "ssh", script))
    assert done.returncode == 5
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
