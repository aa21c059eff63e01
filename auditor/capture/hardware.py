"""The doors to the GPUs of a server: NVML or nvidia-smi here, nvidia-smi over ssh, an exporter, a saved file."""

import asyncio
import re
import subprocess
from pathlib import Path

from auditor.capture.access import access_to
from auditor.capture.nvml import read_nvml
from auditor.capture.probe import ask
from auditor.core.facts import known
from auditor.core.hardware import HostHardware, complete_gpu
from auditor.core.hardware.exporters import parse_exporter
from auditor.core.hardware.smicsv import parse_csv
from auditor.core.hardware.smixml import SIZE_LIMIT_BYTES, TOOL, parse_xml
from auditor.errors import AuditError, ServerError, UsageError

COMMAND = ("nvidia-smi", "-q", "-x")
CAPABILITIES = ("nvidia-smi", "--query-gpu=index,compute_cap", "--format=csv")
PEERS = ("nvidia-smi", "topo", "-p2p", "r")
LIMIT_S = 30.0
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:%\[\]-]{0,254}")
_CONNECTION_FAILED = 255


def read_file(path: Path) -> HostHardware:
    """A saved `nvidia-smi -q -x`, or a saved query as CSV. Raises UsageError where it cannot be read or is neither."""
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from error
    if b"<" not in data[:256] and b"," in data[:4096]:
        return parse_csv(data, str(path), "saved nvidia-smi --query-gpu")
    return parse_xml(data, str(path), f"saved {TOOL}")


def read_own() -> HostHardware:
    """The GPUs of this machine: by NVML where nvidia-ml-py is installed, else by nvidia-smi. Raises AuditError."""
    found = read_nvml()
    if found is not None:
        return found
    return _by_command((), "this machine", TOOL)


def read_ssh(host: str) -> HostHardware:
    """The GPUs of another machine, asked by the ssh of this one, without any question to the user.

    `host` is what ssh takes: a name of its configuration, or user@host. Raises UsageError for what ssh could take for
    an option, ServerError where the machine cannot be reached or has no nvidia-smi.
    """
    return _by_command(ssh_words(host), host, f"ssh {TOOL}")


def ssh_words(host: str) -> tuple[str, ...]:
    """What stands before a command for another machine; raises UsageError for what ssh could take for an option."""
    if not _HOST.fullmatch(host):
        raise UsageError(f"{host[:80]!r} is no host for ssh", remedy="give HOST or USER@HOST")
    return ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T", "--", host)


def read_exporter(url: str) -> HostHardware:
    """The GPUs that a DCGM exporter or nvidia_gpu_exporter tells of. Raises ServerError or UsageError."""
    access = access_to(url)
    path = "" if access.url.rstrip("/").endswith("/metrics") else "/metrics"

    async def scrape() -> tuple[str | None, str]:
        async with access.probing_client() as client:
            answers = await ask(client, access.url, [path])
        return answers.text(path), answers.why_not(path)

    text, why = asyncio.run(scrape())
    if text is None:
        raise ServerError(f"no metrics ({why})", where=access.url, remedy="give the exporter's address")
    return parse_exporter(text, access.url)


def _by_command(before: tuple[str, ...], where: str, source: str) -> HostHardware:
    """Ask nvidia-smi, here or behind `before`; what it tells beside the XML is taken where it answers."""
    code, data, said = _run((*before, *COMMAND), where)
    if code != 0:
        is_away = bool(before) and code == _CONNECTION_FAILED
        what = f"cannot be reached ({said})" if is_away else f"nvidia-smi failed ({said or f'exit code {code}'})"
        raise ServerError(what, where=where, remedy="try the same by hand" if before else "see the driver")
    found = parse_xml(data, where, source)
    found = _with_capabilities(found, _run((*before, *CAPABILITIES), where), f"{source}, --query-gpu=compute_cap")
    if len(found.gpus) < 2:
        return found
    code, data, _ = _run((*before, *PEERS), where)
    p2p = peers(data.decode("utf-8", "replace")) if code == 0 else None
    return found if p2p is None else found.model_copy(update={"p2p": known(p2p, "nvidia-smi topo -p2p r")})


def _with_capabilities(found: HostHardware, answer: tuple[int, bytes, str], source: str) -> HostHardware:
    """The record with the compute capability as it was read, in place of the table's."""
    code, data, _ = answer
    if code != 0:
        return found
    try:
        read = {gpu.index: gpu.facts["compute_capability"] for gpu in parse_csv(data, source, source).gpus}
    except AuditError:
        return found
    gpus = [
        complete_gpu(gpu.index, {**gpu.facts, "compute_capability": read[gpu.index]}, source)
        if gpu.index in read and read[gpu.index].source == f"{source} compute_cap"
        else gpu
        for gpu in found.gpus
    ]
    return found.model_copy(update={"gpus": tuple(gpus)})


def peers(text: str) -> str | None:
    """`all`, `some` or `none` of the pairs of GPUs read each other's memory, by `nvidia-smi topo -p2p r`."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = [line.split()[1:] for line in plain.splitlines() if re.match(r"\s*GPU\d+\s+(?:X|OK|[A-Z]+)\b", line)]
    cells = [cell for row in rows for cell in row if cell != "X" and not cell.startswith("GPU")]
    if not cells:
        return None
    good = cells.count("OK")
    return "all" if good == len(cells) else "some" if good else "none"


def _run(words: tuple[str, ...], where: str) -> tuple[int, bytes, str]:
    """Exit code, output and the last line of what was said about it; raises ServerError where it cannot be run."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
    except FileNotFoundError:
        remedy = "install it, or give --gpu-xml, --ssh or --exporter"
        raise ServerError(f"there is no {words[0]} on this machine", where=where, remedy=remedy) from None
    except OSError as error:
        raise ServerError(f"{words[0]} cannot be run ({error.strerror})", where=where) from error
    except subprocess.TimeoutExpired:
        raise ServerError(f"no answer within {LIMIT_S:g} s", where=where, remedy="try the same by hand") from None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    return done.returncode, done.stdout, "".join(c for c in lines[-1] if c.isprintable())[:160]
