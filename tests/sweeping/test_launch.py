"""Starting and stopping: nothing that was started is left, whatever its processes do."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from auditor.capture import launch as door
from auditor.capture.launch import Command, LaunchError
from auditor.capture.sweepstate import begun, read, save, taken_up, unfinished
from auditor.core.sweeping.matrix import Ready, Stop, parse_matrix
from auditor.core.sweeping.result import Started
from auditor.errors import EvidenceError, UsageError

FAMILY = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, env={})
print(os.getpid(), own.pid, flush=True)
own.wait()
"""
"""A process that ignores SIGTERM, with a child in a session of its own that has no mark."""
MATRIX = "schema: 1\nid: m\ntitle: M\nlaunch: {argv: [x]}\nrows: [{id: a}, {id: b}]\n"


def start(tmp_path: Path, mark: str) -> tuple["subprocess.Popen[bytes]", list[int]]:
    command = Command((sys.executable, "-u", "-c", FAMILY), {"PATH": "/usr/bin:/bin"}, tmp_path, tmp_path / "log")
    process = door.start(command, mark)
    while not (numbers := command.log.read_text().split()):
        assert process.poll() is None
    return process, [int(number) for number in numbers]


def started(process: "subprocess.Popen[bytes]", mark: str) -> Started:
    stop = Stop(grace_s=0)
    return Started(row="a", mark=mark, pid=process.pid, started_ns=door.begun_ns(process.pid), stop=stop)


def test_a_child_in_a_session_of_its_own_is_stopped_too(tmp_path: Path) -> None:
    process, pids = start(tmp_path, "one")
    one = started(process, "one")
    assert {process.pid for process in door.running(one, is_own=True)} == set(pids)
    door.stop(one, is_own=True)
    assert process.wait() < 0
    assert not door.running(one, is_own=True)
    assert all(not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie" for pid in pids)


def test_another_process_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    process, pids = start(tmp_path, "two")
    begun_ns = door.begun_ns(process.pid)
    assert begun_ns is not None
    stranger = Started(row="a", mark="other", pid=process.pid, started_ns=begun_ns - 60 * 10**9, stop=Stop())
    assert door.running(stranger) == []
    door.stop(stranger)
    assert all(psutil.pid_exists(pid) for pid in pids)
    door.stop(started(process, "two"), is_own=True)
    process.wait()


def test_what_a_killed_sweep_left_is_stopped_when_it_goes_on(tmp_path: Path) -> None:
    matrix, _ = parse_matrix(MATRIX, "m.yaml")
    folder, state = begun(tmp_path, matrix, "d", sweep="sweep-1", seed=1)
    process, pids = start(tmp_path, "three")
    # The tool that owned it is gone: no process of this number began at that time.
    save(folder, state.model_copy(update={"running": started(process, "three"), "owner_started_ns": 1}))
    found = unfinished(tmp_path, "m", tmp_path)
    assert found is not None
    assert (found[0], found[1].running) == (folder, None)
    process.wait()
    assert all(not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie" for pid in pids)
    assert taken_up(*found, "d").left == ("a", "b")


def test_a_changed_matrix_and_a_damaged_state_are_told(tmp_path: Path) -> None:
    matrix, _ = parse_matrix(MATRIX, "m.yaml")
    folder, state = begun(tmp_path, matrix, "d", sweep="sweep-1", seed=1)
    save(folder, state)
    assert read(folder) == state
    with pytest.raises(UsageError, match="changed since this sweep began"):
        taken_up(folder, state, "e")
    (folder / "state.json").write_bytes((folder / "state.json").read_bytes()[:-20])
    with pytest.raises(EvidenceError, match="damaged"):
        unfinished(tmp_path, "m", tmp_path)


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    matrix, _ = parse_matrix(MATRIX, "m.yaml")
    folder, state = begun(tmp_path, matrix, "d", sweep="sweep-1", seed=1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = {"owner_pid": other.pid, "owner_started_ns": door.begun_ns(other.pid)}
        save(folder, state.model_copy(update=owner))
        with pytest.raises(UsageError, match="another audit sweep works on it"):
            unfinished(tmp_path, "m", tmp_path)
        other.communicate(b"\n")


def test_a_process_that_ends_before_it_is_ready(tmp_path: Path) -> None:
    command = Command((sys.executable, "-c", "raise SystemExit(7)"), {}, tmp_path, tmp_path / "log")
    process = door.start(command, "four")
    with pytest.raises(LaunchError, match="ended with code 7 before it was ready"):
        door.wait_ready(process, f"http://127.0.0.1:{door.free_port()}", Ready(timeout_s=60), {})


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot be started: No such file") as error:
        door.start(Command(("no-such-program",), {}, tmp_path, tmp_path / "log"), "five")
    assert error.value.outcome == "failed-to-start"
