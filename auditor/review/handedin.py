"""Logs that are put beside a run after it: the measured server's own, and those of the claimant."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from auditor.core.counting.evidence import assemble
from auditor.core.enginelogs.ofclaim import of_claim
from auditor.core.folder import CANARIES, REFERENCE, SERVER_LOG, SERVER_LOG_RECORD, WIRE, WITNESSES, RunFolder, write
from auditor.core.judging.witnessfile import WitnessFile
from auditor.core.validity.canaries import Reference
from auditor.core.wire.log import Kind, read_wire
from auditor.errors import UsageError
from auditor.review.runlog import Border, keep, opened
from auditor.review.serverlog import read_server_log

MOST_BYTES = 64 * 1024 * 1024
"""Size of a claimant's log; it is copied whole, for its digest to mean something."""


def add_server_log(path: Path, log_path: str) -> None:
    """Put the measured server's own log beside a run that was made without it.

    Lines are laid beside the rounds by the time that they print, where that is a full date with a zone, as
    `docker logs -t` gives; the clocks of both machines are taken to agree. Raises UsageError.
    """
    folder = RunFolder(path)
    if (path / SERVER_LOG_RECORD).exists():
        raise UsageError("the run has its server's log already", where=str(path), remedy="leave --server-log out")
    facts, plan = folder.facts(), folder.plan()
    server = facts.servers[plan.subject.server]
    borders = _borders(path)
    if not borders:
        raise UsageError("nothing of the run was measured", where=str(path), remedy="leave --server-log out")
    with opened(log_path) as stream:
        log, text = keep(stream, log_path, borders, server.key, server.kind, bytes)
    if not log.facts and not text and log.reason is None:
        raise UsageError(
            "no line of the server's log was written during the run", where=log_path, remedy="give that of its time"
        )
    write(path, SERVER_LOG, text)
    write(path, SERVER_LOG_RECORD, log.to_json())


def add_reference(path: Path, other: Path) -> None:
    """Put the canaries of another run beside this one; raises UsageError for a run that has none, and EvidenceError."""
    theirs, mine = RunFolder(other), RunFolder(path)
    theirs.check(CANARIES)
    canaries, run, known = theirs.canaries(), theirs.run().run, mine.reference()
    if run == mine.run().run:
        raise UsageError("the reference is the run itself", where=str(other), remedy="give a run on another server")
    if canaries is None:
        remedy = "give a run that was made without --no-canaries"
        raise UsageError("the reference has no questions with known answers", where=str(other), remedy=remedy)
    reference = Reference(run=run, canaries=canaries)
    if known not in (None, reference):
        remedy = "leave --reference out, or judge a copy of the run that has none"
        raise UsageError(f"the run has the reference {known.run} already", where=str(path), remedy=remedy)
    write(path, REFERENCE, reference.to_json())


def add_witness(path: Path, log_path: str, taken_ns: int) -> WitnessFile:
    """Copy a claimant's log into a run folder; `taken_ns` is the time since the epoch.

    Raises UsageError, also for a log that does not name the claim's engine and model: it speaks of no claim.
    """
    if log_path == "-":
        raise UsageError("a witness is a file", remedy="save the log, and name the file")
    beside = of_claim(RunFolder(path).claim()[1], read_server_log(log_path).reading)
    if not beside.same:
        remedy = "a witness names the engine and the model of the claim: give the log from its first line on"
        raise UsageError(f"{beside.sentence[0].lower()}{beside.sentence[1:-1]}", where=log_path, remedy=remedy)
    with opened(log_path) as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        remedy = "cut out the part that holds the published run, and say so"
        raise UsageError(f"is larger than {MOST_BYTES >> 20} MiB", where=log_path, remedy=remedy)
    taken = datetime.fromtimestamp(taken_ns / 1e9, UTC).isoformat(timespec="seconds")
    file = WitnessFile(name=Path(log_path).name, sha256=hashlib.sha256(data).hexdigest(), size=len(data), taken=taken)
    place = path / WITNESSES
    if (place / f"{file.stem}.json").exists():
        return file
    place.mkdir(exist_ok=True)
    write(place, f"{file.stem}.log", data)
    write(place, f"{file.stem}.json", file.to_json())
    return file


def _borders(path: Path) -> list[Border]:
    """When each round began, and when the last ended, by the clock that the wire log relates to the monotonic one."""
    records = read_wire(path / WIRE).records
    clock = next((record for record in records if record.kind is Kind.CLOCK), None)
    if clock is None:
        raise UsageError("the run does not tell what time it was", where=str(path), remedy="leave --server-log out")
    shift = clock.kernel_ns - clock.t_ns
    begun: dict[tuple[str, int], int] = {}
    end = 0
    canaries: list[int] = []
    for one in assemble(records).exchanges:
        if one.purpose == "canary" and one.open_ns is not None:
            canaries.append(one.open_ns)
        if one.purpose not in ("measure", "warmup") or one.open_ns is None:
            continue
        key = (str(one.meta.get("cell")), int(one.meta.get("repeat", 0)))
        begun[key] = min(one.open_ns, begun.get(key, one.open_ns))
        end = max(end, one.close_ns or one.open_ns)
    rounds = sorted(begun.items(), key=lambda item: item[1])
    borders = [Border(cell, repeat, None, at + shift) for (cell, repeat), at in rounds]
    last = min([end + _AFTER_NS, *(at for at in canaries if at >= end)])
    return [*borders, Border("", 0, None, last + shift)] if borders else []


_AFTER_NS = 10**9
"""A server writes its last lines a moment after the last answer."""
