"""Which embedded servers `audit local` left running: one small file each, in the user's state folder."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from auditor.capture.local import LocalServer, as_document
from auditor.errors import AuditError, ServerError, UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PROGRAM = "auditor.capture.local_server"
STOP_TIMEOUT_S = 10.0
_POLL_S = 0.02


def state_folder() -> Path:
    """Where this user's programs keep their state: `$XDG_STATE_HOME` and its like."""
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "auditor" / "local"
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "auditor" / "local"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "auditor" / "local"
    return home / ".local" / "state" / "auditor" / "local"


def state_file(name: str) -> Path:
    """The file of one server; raises UsageError for a name that is none."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"not a name for a server: {name!r}", remedy="use letters, digits, dots and dashes")
    return state_folder() / f"{name}.json"


def log_file(name: str) -> Path:
    """Where the server of this name writes its log."""
    return state_file(name).with_suffix(".log")


def remember(name: str, server: LocalServer) -> dict[str, Any]:
    """Keep a server that was started; returns what was kept. Raises UsageError when the name was taken meanwhile."""
    document = {
        **as_document(server),
        "name": name,
        "launched": server.launched,
        "started_unix_ns": time.time_ns(),
    }
    path = state_file(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    except FileExistsError:
        raise UsageError(
            f"a server named {name} was started meanwhile", remedy=f"see `audit local status --name {name}`"
        ) from None
    except OSError as error:
        raise AuditError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return document


def recall(name: str) -> dict[str, Any] | None:
    """The server of this name, if it runs; what is left of one that does not is cleared away."""
    path = state_file(name)
    try:
        document = orjson.loads(path.read_bytes())
        pid, url = document["pid"], document["url"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        pid, url, document = None, None, None
    if isinstance(pid, int) and isinstance(url, str) and _is_ours(pid, document):
        return dict(document)
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def recall_url(url: str) -> dict[str, Any] | None:
    """The server of any name that answers at this address, if it is one of ours."""
    if not state_folder().is_dir():
        return None
    for path in sorted(state_folder().glob("*.json")):
        document = recall(path.stem) if _NAME.fullmatch(path.stem) else None
        if document is not None and document["url"] == url:
            return document
    return None


def forget(name: str) -> dict[str, Any] | None:
    """End the server of this name; None when there was none. Raises ServerError when it does not end."""
    document = recall(name)
    if document is None:
        return None
    pid = document["pid"]
    for sign in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        if _is_gone(pid, document):
            state_file(name).unlink(missing_ok=True)
            return document
    raise ServerError(f"process {pid} does not end", where=document["url"], remedy=f"end it with `kill -9 {pid}`")


def _is_gone(pid: int, document: dict[str, Any]) -> bool:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < deadline:
        if not _is_ours(pid, document):
            return True
        time.sleep(_POLL_S)
    return False


def _is_ours(pid: int, document: dict[str, Any]) -> bool:
    """Whether this process is the server that was started, and not another that got its number since."""
    command = _command_line(pid)
    return _PROGRAM in command and json.dumps(document.get("gguf")) in command


def _command_line(pid: int) -> str:
    """The arguments of a living process; empty when there is none."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    try:
        command = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
