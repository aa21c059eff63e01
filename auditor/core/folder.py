"""A run folder: the names of its files, and how they are read back. It holds all that a verdict rests on."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import orjson
from pydantic import ValidationError

from auditor.core.bases.kinds import Recounted
from auditor.core.claim.claim import Case, Claim, parse_claim
from auditor.core.counting.evidence import Evidence, Readers, assemble
from auditor.core.explain.record import Witness
from auditor.core.facts import RunFacts
from auditor.core.hardware import HostHardware
from auditor.core.hardware.telemetry import Sample, read_telemetry
from auditor.core.judging.witnessfile import WitnessFile, witnesses_in
from auditor.core.plan.plan import Plan
from auditor.core.record import Record, sha256
from auditor.core.runlog import RunLog, Timeline, timeline_of
from auditor.core.validity.canaries import Canaries, Reference, digest_of
from auditor.core.wire.log import WireScan
from auditor.errors import AuditError, EvidenceError, UsageError

CLAIM, PLAN, FACTS, HARDWARE, TELEMETRY, RUN, WIRE, RECOUNT, SERVER_LOG, SERVER_LOG_RECORD = (
    "claim.yaml",
    "plan.json",
    "facts.json",
    "hardware.json",
    "telemetry.jsonl",
    "run.json",
    "wire.zst",
    "recount.json",
    "server.log",
    "serverlog.json",
)
"""Evidence: written while measuring and never changed; the server's log may be added later."""
CHALLENGE, AMENDMENTS = "challenge.json", "amendments.jsonl"
"""What the run answers, where a reviewer asked for it; what was said of the verdict since, line added to line."""
CANARIES, REFERENCE = "canaries.json", "reference.json"
"""Evidence too: questions with known answers, and those of another run of the same model, which may be added later."""
WITNESSES = "witnesses"
"""Folder of the claimant's logs, each by its digest, with a record of where it comes from."""
LEDGER, TOKENS, METRICS, VERDICT, REPORT, MANIFEST = (
    "ledger.json",
    "tokens.jsonl",
    "metrics.jsonl",
    "verdict.json",
    "report.html",
    "manifest.json",
)
"""Derived from the evidence, and made again by `audit judge` and `audit report`."""

_NO_RUN = "this is no run folder, or its run ended before the first request"

EVIDENCE = (
    CLAIM, PLAN, FACTS, RUN, WIRE, RECOUNT, HARDWARE, TELEMETRY, SERVER_LOG, SERVER_LOG_RECORD, CHALLENGE, AMENDMENTS,
    CANARIES, REFERENCE,
)  # fmt: skip
"""Files that judging must find as they were written."""

R = TypeVar("R", bound=Record)


class RunRecord(Record):
    """`run.json`: what names this run."""

    run_version: Literal[1] = 1
    run: str
    tool_version: str
    started: str
    """UTC, ISO 8601."""
    started_ns: int
    """Since the epoch."""
    command: str
    """The command that repeats it."""
    plan_digest: str
    left_out: dict[str, str] = {}
    """Parts of an audit that were switched off or not asked for, and by what."""


class Recount(Record):
    """`recount.json`: the text of each answer, tokenised again after the run."""

    recount_version: Literal[1] = 1
    tokenizer: str
    """Its name."""
    tokenizer_sha256: str | None = None
    """SHA-256 of the tokenizer's file; None for the server's own."""
    is_independent: bool
    """Whether it is not the measured server that tokenised."""
    counts: dict[int, int]
    """Tokens by exchange, whole texts."""
    by_event: dict[int, int] = {}
    """Tokens by exchange, each event by itself: what a client gets that tokenises as it receives."""
    other_tokenizer: str | None = None
    """Name of another tokenizer, to see whether a number was counted with it."""
    other_sha256: str | None = None
    other: dict[int, int] = {}
    """Tokens by exchange, whole texts, by the other tokenizer."""

    def recounted(self) -> dict[int, Recounted]:
        """What the counting rules take from it, by exchange; the server's own tokenizer counts whole texts only."""
        return {
            exchange: Recounted(whole=count, by_event=self.by_event.get(exchange), other=self.other.get(exchange))
            for exchange, count in self.counts.items()
        }


def write(folder: Path, name: str, data: bytes) -> None:
    """Write one file of a run folder, whole or not at all; raises AuditError."""
    write_pieces(folder, name, (data,))


def write_pieces(folder: Path, name: str, pieces: Iterable[bytes]) -> None:
    """Write one file of a run folder piece by piece, whole or not at all; raises AuditError."""
    with _written(folder / name) as file:
        for piece in pieces:
            file.write(piece)


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise AuditError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="see to space and permissions; then `audit judge` the folder, which keeps what was measured",
        ) from error


def is_judgeable(path: Path) -> bool:
    """Whether a run folder holds the plan and the record of its run, which are written before the first request."""
    return (path / RUN).is_file()


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Make a run folder; raises UsageError when it cannot be made.

    When the block fails before there is anything to judge, nothing is left of it.
    """
    made = [one for one in (path, *path.parents) if not one.exists()]
    try:
        path.mkdir(parents=True)
    except OSError as error:
        what = f"the run folder cannot be made ({error.strerror})"
        raise UsageError(what, where=str(path), remedy="choose another with --reports") from None
    try:
        yield
    finally:
        if not is_judgeable(path):
            shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                for one in made[1:]:
                    one.rmdir()


class RunFolder:
    """Reads a run folder; raises EvidenceError for what is missing, damaged or from a newer version."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise EvidenceError("there is no such run folder", where=str(path), remedy="see `audit list`")

    def read(self, name: str) -> bytes:
        """The bytes of one file."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            raise EvidenceError(what, where=str(self.path / name), remedy=_NO_RUN) from error

    def record(self, name: str, kind: type[R]) -> R:
        """One file as a record."""
        try:
            return kind.from_json(self.read(name))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            if place.endswith("_version"):
                what = f"is of version {first['input']}, which this tool does not read"
                raise EvidenceError(
                    what, where=str(self.path / name), remedy="use a newer version of the tool"
                ) from None
            what = ": ".join(part for part in ("is damaged", place, first["msg"]) if part)
            raise EvidenceError(what, where=str(self.path / name), remedy="restore the file") from None

    def claim(self) -> tuple[Claim, Case]:
        """The claim and the case that was audited."""
        plan, data = self.plan(), self.read(CLAIM)
        if sha256(data) != plan.claim_digest:
            raise EvidenceError(
                "is not the claim that was planned for", where=str(self.path / CLAIM), remedy="restore the file"
            )
        claim = parse_claim(data.decode("utf-8"), str(self.path / CLAIM))
        return claim, claim.case(plan.case)

    def plan(self) -> Plan:
        """The plan; its digest must be the one noted before measuring."""
        plan = self.record(PLAN, Plan)
        if sha256(self.read(PLAN)) != self.run().plan_digest:
            raise EvidenceError(
                "is not the plan that was hashed before measuring",
                where=str(self.path / PLAN),
                remedy="restore the file",
            )
        return plan

    def run(self) -> RunRecord:
        """What names the run."""
        return self.record(RUN, RunRecord)

    def facts(self) -> RunFacts:
        """What was learned before measuring, of every server of the plan."""
        facts = self.record(FACTS, RunFacts)
        missing = {cell.server for cell in self.plan().cells} - set(facts.servers)
        if missing:
            what = f"says nothing of the server {min(missing)}"
            raise EvidenceError(what, where=str(self.path / FACTS), remedy="restore the file")
        return facts

    def evidence(self, readers: Readers | None = None) -> Evidence:
        """The wire log, assembled; with `readers` answers are taken apart meanwhile, and their bytes are not held."""
        scan = WireScan(self.path / WIRE)
        evidence = assemble(scan, None, readers)
        return replace(evidence, damage=scan.damage)

    def digest(self, name: str) -> str:
        """SHA-256 of one file, however long."""
        try:
            with (self.path / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return sha256(self.read(name))

    def recount(self) -> Recount | None:
        """The recount; None when there was none."""
        return self.record(RECOUNT, Recount) if (self.path / RECOUNT).exists() else None

    def hardware(self) -> HostHardware | None:
        """The GPUs of the measured server's machine; None when they were not asked for."""
        return self.record(HARDWARE, HostHardware) if (self.path / HARDWARE).exists() else None

    def telemetry(self) -> tuple[Sample, ...] | None:
        """The GPUs during the run; None when they were not sampled."""
        path = self.path / TELEMETRY
        return read_telemetry(self.read(TELEMETRY), str(path)) if path.exists() else None

    def canaries(self) -> Canaries | None:
        """The questions with known answers; None when none were asked."""
        if not (self.path / CANARIES).exists():
            return None
        found, planned = self.record(CANARIES, Canaries), self.plan().canaries
        if planned is not None and digest_of(found.asked) != planned:
            what = "holds other questions than were planned"
            raise EvidenceError(what, where=str(self.path / CANARIES), remedy="restore the file")
        return found

    def reference(self) -> Reference | None:
        """Those of the reference run; None when none was given."""
        return self.record(REFERENCE, Reference) if (self.path / REFERENCE).exists() else None

    def timeline(self) -> Timeline | None:
        """The measured server's own log of the run; None when none was given."""
        if not (self.path / SERVER_LOG_RECORD).exists():
            return None
        log, text = self.record(SERVER_LOG_RECORD, RunLog), self.read(SERVER_LOG)
        if sha256(text) != log.sha256:
            raise EvidenceError(
                "is not the log that was kept", where=str(self.path / SERVER_LOG), remedy="restore the file"
            )
        if log.server not in self.facts().servers:
            what = f"is of a server {log.server} that the run does not know"
            raise EvidenceError(what, where=str(self.path / SERVER_LOG_RECORD), remedy="restore the file")
        return timeline_of(log, text)

    def witnesses(self, case: Case) -> tuple[Witness, ...]:
        """What the claimant's logs that were put beside the run say for the number of a claim."""
        found: list[Witness] = []
        for path in sorted((self.path / WITNESSES).glob("*.json")):
            file = self.record(f"{WITNESSES}/{path.name}", WitnessFile)
            data = self.read(f"{WITNESSES}/{file.stem}.log")
            if sha256(data) != file.sha256:
                what = "is not the log that was handed in"
                raise EvidenceError(what, where=str(path.with_suffix(".log")), remedy="restore the file")
            found += witnesses_in(case, file, data)
        return tuple(found)

    def check(self, *listed: str) -> None:
        """Raises EvidenceError when one of these files is not what the manifest says; without a manifest nothing is.

        A run that was killed has none yet, and is judged as far as its evidence goes.
        """
        if not (self.path / MANIFEST).exists():
            return
        try:
            digests = orjson.loads(self.read(MANIFEST))
        except orjson.JSONDecodeError:
            raise EvidenceError("is damaged", where=str(self.path / MANIFEST), remedy="restore the file") from None
        for name in listed:
            noted = digests.get(name) if isinstance(digests, dict) else None
            if noted is not None and self.digest(name) != noted:
                what = "was changed since it was written: it is not what manifest.json says"
                remedy = "restore the file" if name in EVIDENCE else "`audit judge` makes it again"
                raise EvidenceError(what, where=str(self.path / name), remedy=remedy)

    def manifest(self) -> dict[str, str]:
        """SHA-256 of every file but the manifest itself, by name; those of witnesses with their folder."""
        files = [*self.path.iterdir(), *(self.path / WITNESSES).glob("*")]
        paths = [path.relative_to(self.path) for path in files if path.is_file() and not path.name.startswith(".")]
        names = sorted(path.as_posix() for path in paths)
        return {name: self.digest(name) for name in names if name != MANIFEST}
