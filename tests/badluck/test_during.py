"""Bad luck while it measures: what came until then is kept, judged as partial, and said in one line."""

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time

import pytest
from luck import TOKENS, answer
from rawserver import LAST_CHUNK, STREAM_HEAD, Asked, Peer, chunked, delta, event, last, plain

from auditor.core.folder import RunFolder
from auditor.core.wire.log import Kind, read_wire


class Endless:
    """A stream without end; `flows` is set when many events of it were sent."""

    def __init__(self, size: int = 10, pause_s: float = 0.01, enough: int = 20) -> None:
        self.flows, self.gone = threading.Event(), threading.Event()
        self.size, self.pause_s, self.enough = size, pause_s, enough

    async def __call__(self, peer: Peer, asked: Asked) -> None:
        try:
            await peer.send(STREAM_HEAD)
            for count in range(100_000):
                await peer.send(*chunked(event(delta(os.urandom(self.size).hex()))), pause_s=self.pause_s)
                if count == self.enough:
                    self.flows.set()
        finally:
            self.gone.set()


def is_partial(ran) -> None:
    """The folder was judged, as partial, and holds what came."""
    verdict = ran.document("verdict.json")
    assert verdict["run"]["partial"] is True
    findings = {finding["id"]: finding for finding in verdict["findings"]}
    assert findings["run-finished"]["outcome"] == "fails"
    assert any(line["tally"]["events"] for line in ran.document("ledger.json")["exchanges"])


# nothing is measured


@pytest.mark.parametrize(
    ("measured", "line"),
    [
        (
            answer(plain(b'{"message":"This model\'s maximum context length is 2048 tokens."}', "400 Bad Request")),
            "nothing was measured: HTTP 400: This model's maximum context length is 2048 tokens.; change what it names "
            "with --tokens, --prompts",
        ),
        (answer(plain(b"", "500 Internal Server Error")), "nothing was measured: HTTP 500; see the server's log"),
        (
            answer(STREAM_HEAD, *chunked(event(last("stop", 0)), event(b"[DONE]")), LAST_CHUNK),
            "nothing was measured: the answer is empty; see the server's log",
        ),
    ],
    ids=["context", "500", "empty"],
)
def test_nothing_is_measured(measured, line, tool, model):
    server = model(good=measured)
    ran = tool(*tool.arguments(server.url, "--json"))
    assert ran.line(5).startswith(f"{server.url}: {line}")
    assert json.loads(ran.out)["exit_code"] == 5
    if "context" in line:  # once is enough
        again = tool("judge", str(ran.folder))
        assert again.code == 4, "what is left explains itself"
        assert "INCONCLUSIVE" in again.out


def test_three_failures_in_a_row_end_it(tool, model):
    tool.prompts("good", *["bad"] * 9)
    server = model(bad=answer(plain(b"", "500 Internal Server Error")))
    ran = tool(*tool.arguments(server.url))
    assert ran.code == 4
    assert "ended early and is judged as partial: 3 requests failed in a row; the last: HTTP 500" in ran.err
    assert len([asked for asked in server.posts() if asked.json.get("max_tokens") == TOKENS]) == 4
    is_partial(ran)


def test_a_server_that_is_killed(tool, model):
    endless = Endless()
    tool.prompts("good", "endless", "good", "good", "good")
    server = model(endless=endless)
    process = tool.start(*tool.arguments(server.url))
    assert endless.flows.wait(30)
    server.stop()
    ran = tool.end(process)
    assert ran.code == 4, ran.err
    assert "3 requests failed in a row; the last: Connection refused" in ran.err
    is_partial(ran)
    first, second, *_ = ran.document("ledger.json")["exchanges"]
    assert (first["status"], second["status"]) == ("complete", "partial")
    assert second["tally"]["events"] >= 20


def test_the_time_limit(tool, model):
    tool.prompts("good", "endless")
    ran = tool(*tool.arguments(model(endless=Endless()).url, "--time-limit", "1"))
    assert ran.code == 4
    assert "judged as partial: the time limit of 1 s was reached" in ran.err
    is_partial(ran)


# signals


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_replay_and_what_came_is_judged(sign, tool, model):
    endless = Endless()
    tool.prompts("good", "endless")
    process = tool.start(*tool.arguments(model(endless=endless).url, "--json"))
    assert endless.flows.wait(30)
    os.kill(process.pid, sign)
    ran = tool.end(process)
    assert ran.code == 4, ran.err
    assert json.loads(ran.out)["stopped"] == "interrupted"
    assert "judged as partial: interrupted" in ran.err
    is_partial(ran)


def test_answers_of_before_the_load_outlive_an_interruption(tool, model):
    endless = Endless()
    tool.prompts("good", "endless")
    process = tool.start(*tool.arguments(model(endless=endless).url, "--canaries", "--json"))
    assert endless.flows.wait(30)
    os.kill(process.pid, signal.SIGINT)
    ran = tool.end(process)
    found = RunFolder(ran.folder).canaries()
    assert [one.when for one in found.answers] == ["before"] * len(found.asked)
    missing = {one["part"]: one["why"] for one in json.loads(ran.out)["not_looked_at"]}
    assert missing["questions with known answers"] == "none was answered after the load"


def test_a_second_signal_ends_the_tool(tool, model):
    endless = Endless()
    tool.prompts("good", "endless")
    process = tool.start(*tool.arguments(model(endless=endless).url, "--json"))
    assert endless.flows.wait(30)
    os.kill(process.pid, signal.SIGINT)
    assert endless.gone.wait(30)
    os.kill(process.pid, signal.SIGINT)
    ran = tool.end(process)
    assert re.fullmatch(r"reports/small/\S+: interrupted; `audit judge` it to see what was measured", ran.line(130))
    assert json.loads(ran.out)["exit_code"] == 130
    assert tool("judge", str(ran.folder)).code == 4
    is_partial(ran)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["trial", "warmup"])
def test_a_signal_before_anything_was_measured(when, sign, tool, model):
    endless = Endless()
    process = tool.start(*tool.arguments(model(**{when: endless}).url))
    assert endless.flows.wait(30)
    os.kill(process.pid, sign)
    ran = tool.end(process)
    assert ran.line(130) == "interrupted before anything was measured"
    if when == "trial":
        assert not (ran.cwd / "reports").exists()
    elif sign is signal.SIGINT:
        assert tool("judge", str(ran.folder)).code == 4


def test_a_signal_while_the_server_is_probed(tool):
    from rawserver import raw_server

    async def silent(peer: Peer) -> None:
        await peer.asked()
        asked.set()
        await peer.gone()

    asked = threading.Event()
    with raw_server(silent) as server:
        process = tool.start(*tool.arguments(server.url, "--json"))
        assert asked.wait(30)
        os.kill(process.pid, signal.SIGINT)
        ran = tool.end(process)
    assert ran.line(130) == "interrupted before anything was measured"
    assert not (ran.cwd / "reports").exists()


def test_kill_9_loses_no_more_than_the_last_second(tool, model):
    endless = Endless(enough=150)  # 1.5 s: some frames are on disk
    tool.prompts("good", "endless")
    server = model(endless=endless)
    process = tool.start(*tool.arguments(server.url))
    assert endless.flows.wait(30)
    killed_ns = time.perf_counter_ns()
    process.kill()
    ran = tool.end(process)
    assert ran.code == -signal.SIGKILL
    again = tool("judge", str(ran.folder), "--json")
    assert again.code == 4, again.err
    assert "Traceback" not in again.err
    assert json.loads(again.out)["run"]["partial"] is True
    is_partial(ran)
    reads = [record for record in read_wire(ran.folder / "wire.zst").records if record.kind is Kind.READ]
    assert killed_ns - reads[-1].t_ns < 1.2e9
    broken = ran.document("ledger.json")["exchanges"][-1]
    assert broken["problem"] == "the record ends before the answer did"


# a full disk


def test_a_file_that_may_not_grow(tool, model):
    """The system's limit on the size of files stands for a full disk where nothing may be mounted."""
    endless = Endless(size=2000, pause_s=0.0)
    tool.prompts("good", "endless", "good")
    limit = 150_000
    ran = tool(*tool.arguments(model(endless=endless).url, "--json"), limit=limit)
    line = ran.line(1)
    assert re.match(r"reports/small/\S+: cannot be written \(File too large\); see to space and permissions", line)
    assert json.loads(ran.out)["exit_code"] == 1
    assert (ran.folder / "wire.zst").stat().st_size <= limit
    after_full_disk(tool, ran)


def test_a_full_disk(tool, model):
    endless = Endless(size=2000, pause_s=0.0)
    tool.prompts("good", "endless", "good")
    (tool.cwd / "reports").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(tool.cwd / "reports")]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        ran = tool(*tool.arguments(model(endless=endless).url))
        assert re.search(r"cannot be written \(No space left on device\); see to space", ran.line(1))
        subprocess.run(["mount", "-o", "remount,size=64m", str(tool.cwd / "reports")], check=True)
        after_full_disk(tool, ran)
    finally:
        subprocess.run(["umount", str(tool.cwd / "reports")], check=True)


def after_full_disk(tool, ran) -> None:
    """With space again, what was measured before is judged."""
    again = tool("judge", str(ran.folder))
    assert again.code == 4, again.err
    is_partial(ran)
    assert ran.document("ledger.json")["exchanges"][0]["status"] == "complete"
    assert not list(ran.folder.glob(".*")), "no half-written file is left"


# too much


def test_an_event_of_100_mb(tool, model):
    async def huge(peer: Peer, asked: Asked) -> None:
        await peer.send(STREAM_HEAD)
        for _ in range(100):
            await peer.send(*chunked(b"data: " + b"x" * (1 << 20)))
        await peer.send(*chunked(b"\n\n"), LAST_CHUNK)

    tool.prompts("good", "huge")
    code = (
        "import re, sys\nfrom auditor.cli import main\n"
        "try: main(sys.argv[1:])\n"
        # The kernel's own ru_maxrss would also count this test process, from before the exec.
        "finally: print('PEAK', re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    ran = tool.run_code(code, *tool.arguments(model(huge=huge).url))
    assert ran.code == 4, ran.err
    assert int(ran.out.rpartition("PEAK ")[2]) << 10 < 350 << 20, "a run without it takes 210 MiB"
    first, second = ran.document("ledger.json")["exchanges"]
    assert first["status"] == "complete"
    assert (second["status"], second["problem"]) == ("failed", "more than 32 MiB came for one answer")


def test_more_streams_than_files_may_be_open(tool, model):
    server = model()
    words = shlex.join(tool.arguments(server.url, "--streams", "60"))
    ran = tool.run("bash", "-c", f"ulimit -Sn 50; exec $AUDIT {words}")
    assert ran.code == 4, ran.err
    lines = ran.document("ledger.json")["exchanges"]
    assert len(lines) >= 60
    assert {line["status"] for line in lines} == {"complete"}
    ran = tool.run("bash", "-c", f"ulimit -n 50; exec $AUDIT {words}")
    assert ran.line(2) == (
        "60 streams need 124 open files, and 50 are allowed; raise the limit (`ulimit -Hn`), or give fewer --streams"
    )


# what nobody foresaw


def test_an_exception_in_the_middle_loses_nothing(tool, model):
    tool.prompts("good", "bad", "good")
    code = (
        "import sys, auditor.capture.replay as r\nbefore = r.body_of\n"
        "def body_of(request, *more):\n"
        "    if request.prompt.id == 'own-2': raise ZeroDivisionError('by zero')\n"
        "    return before(request, *more)\n"
        "r.body_of = body_of\nfrom auditor.cli import main\nmain(sys.argv[1:])"
    )
    ran = tool.run_code(code, *tool.arguments(model().url))
    line = ran.line(1)
    assert line.startswith("ZeroDivisionError: by zero; what was measured is in reports/small/")
    assert "this is a bug" in line
    assert tool("judge", str(ran.folder)).code == 4
    is_partial(ran)


def test_a_database_that_cannot_be_used_loses_nothing(tool, model):
    ran = tool(*tool.arguments(model().url, "--database", "nonsense://", "--json"))
    assert ran.code == 4
    assert "audit: the run is not in the database: " in ran.err
    assert json.loads(ran.out)["kind"] == "inconclusive"
    assert (ran.folder / "report.html").exists()
    assert ran.document("verdict.json")["run"]["partial"] is False
    assert RunFolder(ran.folder).evidence().finished
