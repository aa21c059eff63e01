"""`audit log-read` as a process: what it prints, its exit codes, big files; and the log of a live llama.cpp."""

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from auditor.capture.local import LocalServer
from auditor.review.serverlog import MAX_LINE, read_server_log

GLM_LOG = "lukealonso/GLM-5.1-NVFP4-MTP"
GLM = f"model: {{checkpoint: {GLM_LOG}}}\nengine: {{name: vLLM}}\n"
DATA = Path(__file__).parent / "data"
SM120 = DATA / "vllm-0.20-sm120-mtp3.log"
CLAIMS = Path(__file__).parents[2] / "claims"


def audit(*words: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "auditor", "log-read", *words]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=120, check=False)


def claim(tmp_path: Path, value: str) -> str:
    path = tmp_path / "claim.yaml"
    path.write_text(f"schema: 1\nid: a-claim\ntitle: A claim\n{value}\n")
    return str(path)


def test_people_read_what_the_log_says() -> None:
    done = audit(str(SM120))
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "vLLM 0.20.2rc1.dev249+glmkimirebase20260514, 86 lines" in text
    assert "15 intervals of Engine 000" in text
    assert "mean 67.3 tok/s over 14 lines, best 99.8 at line 39, least 6.5 at line 32; 1 idle" in text
    assert (
        "Drafted      mean 74.82 tok/s over 14 lines, best 109.80 at line 44, least 2.74 at line 33, not output" in text
    )
    assert "0.534 (5,799 of 10,863 drafted, summed over lines); length 2.60" in text
    assert "8 of 14 agree within rounding" in text
    assert "line 44: 90.6 printed, 90.8 by the speculation line: 2 tokens fewer" in text
    assert "Cannot tell from this log:" in text
    assert done.stderr == b""


def test_programs_read_one_document(tmp_path: Path) -> None:
    done = audit(str(SM120), "--json", "--claim", claim(tmp_path, GLM + "reported: {value: 109.8}"))
    assert done.returncode == 0
    assert b"Delivered" in done.stderr
    document = json.loads(done.stdout)
    reading = document["reading"]
    assert (reading["engine"], reading["intervals"], len(document["intervals"])) == ("vllm", 15, 15)
    assert document["claim"] == {
        "claim_id": "a-claim",
        "row": "a-claim",
        "low": 109.75,
        "high": 109.85,
        "unit": "tok/s",
    }
    (witness,) = reading["witnesses"]
    assert (witness["kind"], witness["line"], witness["artefact"]["name"]) == ("drafted", 44, SM120.name)
    row = document["intervals"][4]
    assert row["time"] == "05-15 03:22:41"
    assert (row["epoch_ns"], row["no_epoch"]) == (None, "the line prints no year")
    assert (row["delivered_rate"], row["drafted"], row["per_position"]) == (57.0, 687, [0.786, 0.48, 0.223])
    for name in reading["absent"]:
        assert row[name] is None


def test_the_digest_is_that_of_the_file() -> None:
    import hashlib

    log = read_server_log(str(SM120))
    data = SM120.read_bytes()
    assert (log.reading.artefact.sha256, log.reading.artefact.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert log.reading.lines == data.count(b"\n")


def test_a_claimed_number_is_looked_for(tmp_path: Path) -> None:
    done = audit(str(SM120), "--claim", claim(tmp_path, GLM + "reported: {value: 99.8}"))
    text = done.stdout.decode()
    assert "Engine and model are those of the claim: the log is of vLLM with lukealonso/GLM-5.1-NVFP4-MTP" in text
    assert "Figures of this log that are 99.8 tok/s; a log shows what was printed, not what was meant:" in text
    assert "peak: the log prints 99.8 tok/s as generation throughput at line 39, the best of its 14 lines" in text
    none = audit(str(SM120), "--claim", claim(tmp_path, GLM + "reported: {range: [130, 150]}"))
    assert none.returncode == 0
    assert "No figure of this log is 130 to 150 tok/s." in none.stdout.decode()


@pytest.mark.parametrize(
    ("about", "differs"),
    [
        ("model: {id: Qwen3.5-397B-A17B}\nengine: {name: SGLang}\n", "engine and model differ"),
        ("model: {id: Qwen3.5-397B-A17B}\nengine: {name: vLLM}\n", "model differs"),
        ("model: {id: GLM-5.1}\nengine: {name: SGLang}\n", "engine differs"),
        ("model: {id: Qwen3.5-397B-A17B}\n", "model differs"),
    ],
)
def test_a_log_of_another_engine_or_model_is_no_witness(tmp_path: Path, about: str, differs: str) -> None:
    done = audit(str(SM120), "--json", "--claim", claim(tmp_path, f"{about}reported: {{value: 109.8}}"))
    assert done.returncode == 0
    text, document = done.stderr.decode(), json.loads(done.stdout)
    assert f"This log is not of what the claim is about, for the {differs}: the log is of vLLM with lukealonso" in text
    assert "109.80 tok/s as drafted" not in text
    assert (document["of_claim"]["same"], document["reading"]["witnesses"], document["candidates"]) == (False, [], [])


@pytest.mark.parametrize(
    ("about", "states"),
    [
        ("", "no engine and no model"),
        ("model: {id: GLM-5.1}\n", "no engine and GLM-5.1"),
        ("engine: {name: vLLM}\n", "vLLM and no model"),
        ("model: {id: GLM-5.1}\nengine: {name: my own}\n", "my own and GLM-5.1"),
    ],
)
def test_a_log_of_what_is_not_known_is_no_witness(tmp_path: Path, about: str, states: str) -> None:
    done = audit(str(SM120), "--json", "--claim", claim(tmp_path, f"{about}reported: {{value: 109.8}}"))
    text, document = done.stderr.decode(), json.loads(done.stdout)
    assert (
        f"Whether this log is of what the claim is about is not known: the log is of vLLM with {GLM_LOG}; the claim "
        f"states {states}." in text
    )
    assert "109.8 tok/s; they are no witnesses, for other servers print such figures too:" in text
    assert (document["of_claim"]["same"], document["reading"]["witnesses"]) == (None, [])
    assert [figure["kind"] for figure in document["candidates"]] == ["drafted"]


def test_standard_input_is_a_log_too() -> None:
    done = audit("-", stdin=SM120.read_bytes())
    assert done.returncode == 0
    assert b"standard input: vLLM" in done.stdout


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"'{sys.executable}' -m auditor log-read '{SM120}' | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.log", b"", "is empty"),
        ("story.txt", b"Once upon a time\nthere was throughput\n", "no engine's log: 2 lines, none of a known shape"),
        ("noise.bin", bytes(range(256)) * 40, "no engine's log"),
        ("log.gz", gzip.compress(SM120.read_bytes(), mtime=0), "is packed (gzip); unpack it first"),
        ("wide.log", SM120.read_text().encode("utf-16"), "is UTF-16, as PowerShell writes it; save it as UTF-8"),
    ],
)
def test_what_is_no_log_is_one_line_and_exit_2(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    done = audit(str(tmp_path / name))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert words in done.stderr.decode()
    as_json = audit(str(tmp_path / name), "--json")
    assert as_json.returncode == 2
    assert json.loads(as_json.stdout)["exit_code"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no/such.log"], "No such file or directory"),
        (["."], "is a folder; name a file"),
        ([str(SM120), "--row", "x"], "--row without --claim"),
        ([str(SM120), "--claim", str(CLAIMS / "sm120-16-configs.yaml")], "choose one with --row"),
        ([str(SM120), "--claim", "no.yaml"], "No such file or directory"),
        ([], "Missing argument"),
    ],
)
def test_bad_usage_is_exit_2(words: list[str], said: str, tmp_path: Path) -> None:
    done = audit(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_claim_without_a_number_has_nothing_to_look_for(tmp_path: Path) -> None:
    done = audit(str(SM120), "--claim", claim(tmp_path, "reported: {outcome: nan}"))
    assert done.returncode == 2
    assert "claim a-claim has no number to look for" in done.stderr.decode()


def test_a_big_log_with_an_endless_line_needs_little_memory(tmp_path: Path) -> None:
    """30 MB of access lines and 60 MB without a newline, through a pipe; what the process held at its most is asked."""
    noise = b'(APIServer pid=1) INFO:     127.0.0.1:46362 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 11_000
    # The kernel's own ru_maxrss would also count this test process, from before the exec.
    code = (
        "import re, sys; from auditor.cli import main\n"
        "try: main(['log-read', '-', '--json'])\n"
        "finally: sys.stderr.write(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=out, stderr=err)
        assert process.stdin is not None
        process.stdin.write(SM120.read_bytes())
        for _ in range(30):
            process.stdin.write(noise)
        for _ in range(60):
            process.stdin.write(b"x" * 1_000_000)
        process.stdin.write(b"\n" + SM120.read_bytes())
        process.stdin.close()
        assert process.wait() == 0
    peak_kib = int((tmp_path / "err").read_text().splitlines()[-1])
    assert peak_kib < 200_000  # the input is 90,000
    document = json.loads((tmp_path / "out").read_bytes())
    assert document["reading"]["intervals"] == 30
    assert document["reading"]["lines"] == 2 * 86 + 330_000 + 1
    assert document["cut_lines"] == 1


def test_a_long_line_is_read_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    first, second = SM120.read_bytes().splitlines(keepends=True)[31:33]
    path.write_bytes(first.rstrip(b"\n") + b" " + b"y" * (2 * MAX_LINE) + first + second)
    log = read_server_log(str(path))
    assert (log.cut_lines, log.reading.lines, log.reading.intervals) == (1, 2, 1)
    path.write_bytes(b"z" * (MAX_LINE - 1) + b"\n" + first + second)
    log = read_server_log(str(path))
    assert (log.cut_lines, log.reading.lines, log.reading.intervals) == (0, 3, 1)


def printed_since(server: LocalServer, begun: int) -> bytes:
    """What the server printed of one request; it prints after it has answered."""
    for _ in range(500):
        data = server.log.read_bytes()[begun:]
        if b"stop processing" in data and data.endswith(b"\n"):
            return data
        time.sleep(0.02)
    pytest.fail("the server printed no end of the request")


@pytest.mark.parametrize("fixture", ["local_draft", "local_ngram", "local_plain"])
def test_the_log_of_a_live_llamacpp(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: LocalServer = request.getfixturevalue(fixture)
    begun = server.log.stat().st_size
    body = {
        "prompt": "1 2 3 4 5 6 7 8 " * 4,
        "max_tokens": 40,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    timings = httpx.post(f"{server.url}/completion", json={**body, "n_predict": 40}, timeout=120).json()["timings"]
    part = tmp_path / "part.log"
    part.write_bytes(printed_since(server, begun))
    log = read_server_log(str(part))
    assert log.reading.engine == "llamacpp"
    (interval,) = (i for i in log.intervals if i.scope == "request")
    assert (interval.delivered, interval.running) == (40, 1)
    assert interval.prompt_tokens == timings["prompt_n"]
    assert str(interval.delivered_rate) == f"{timings['predicted_per_second']:.2f}"
    assert (interval.accepted, interval.drafted) == (timings.get("draft_n_accepted"), timings.get("draft_n"))
    checks = log.reading.requests
    assert checks is not None
    assert checks.fenceposts == {"n-1": 1}
    assert checks.contradictions == 0
    if fixture == "local_draft":
        assert checks.balances == {"exact": 1}
    whole = read_server_log(str(server.log))
    assert whole.reading.facts["streams_max"].value == 2
