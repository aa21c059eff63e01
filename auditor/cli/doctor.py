"""`audit doctor`: known traps that a server's facts and its log show."""

from typing import TYPE_CHECKING, Any

import click

from auditor.cli.hardware import hardware_options, read_hardware
from auditor.cli.output import Output, json_option
from auditor.errors import Exit, UsageError

if TYPE_CHECKING:
    from auditor.core.facts import ServerFacts
    from auditor.core.hardware import HostHardware
    from auditor.core.judging.traps import Evidence, Known, TrapFinding
    from auditor.core.judging.verdict import Finding
    from auditor.reference.traps import Rule
    from auditor.review.traplog import TrapLog

_EPILOG = """\b
Examples:
  audit doctor http://localhost:8000 --server-log server.log
  audit doctor http://gpu-box:8000 --ssh gpu-box
  docker logs server 2>&1 | audit doctor --server-log - --gpu "RTX PRO 6000"

\b
Exit codes:
  0  no trap shows
  1  the tool failed
  2  usage: a log or a file that cannot be read, or a bad option
  4  a trap shows, or may
  5  the server, or the machine or exporter of its GPUs, refused or could not be reached"""


@click.command(epilog=_EPILOG)
@click.argument("server", required=False)
@click.option("--server-log", metavar="FILE", help="The server's own log, from its start on; - is standard input.")
@click.option("--rules", metavar="FILE", multiple=True, help="More rules, in TOML; may be repeated.")
@click.option("--gpu", metavar="GPU", help="Name of the server's GPUs or their compute capability, as 12.0.")
@hardware_options
@click.option("--nvml", is_flag=True, help="GPUs of the server, on this machine: NVML or nvidia-smi.")
@click.option("--api-key", envvar="AUDIT_API_KEY", help="Key of the server; never written down. Or AUDIT_API_KEY.")
@click.option("--model", help="Name of the model, where the server serves several.")
@json_option
def doctor(
    server: str | None,
    server_log: str | None,
    rules: tuple[str, ...],
    gpu: str | None,
    api_key: str | None,
    model: str | None,
    as_json: bool,
    **source: Any,
) -> int:
    """Look for known traps in what SERVER says of itself and in the lines of its log.

    Each trap comes with what shows it, what follows, what to do, and who says so. What is not printed and not asked is
    not seen: no trap found does not mean that there is none. Nothing is measured, and no more of the log is shown than
    what a rule matched.
    """
    from auditor.core.hardware.judged import sentences, state_findings
    from auditor.core.judging.traps import find_traps
    from auditor.review.traplog import read_trap_log

    if server is None and server_log is None:
        raise UsageError("nothing to look at", remedy="give the server's address, --server-log, or both")
    known_rules = _rules(rules)
    stated, hardware = _capability(gpu), read_hardware(source)
    log = read_trap_log(server_log, known_rules) if server_log is not None else None
    asked = _asked(server, api_key, model) if server is not None else None
    known = _known(asked, log, stated, hardware)
    found = find_traps(known_rules, log.traps.hits if log else {}, known)
    out = Output(as_json)
    out.say(_head(asked, log, known, len(known_rules)))
    for finding in found:
        out.say(_text(finding))
    out.say(_sum(found))
    notes = state_findings(hardware) if hardware is not None else ()
    for sentence in sentences(notes):
        out.say(f"GPUs: {sentence}")
    out.document(_document(asked, log, known, len(known_rules), found, notes))
    return Exit.UNDECIDED if found else Exit.OK


def _rules(files: tuple[str, ...]) -> "tuple[Rule, ...]":
    """The rules of the package and of the user; one of the user's goes before one of the same id."""
    from auditor.core.observed import FACT_NAMES
    from auditor.reference.traps import bundled_traps, parse_traps

    rules = {rule.id: rule for rule in bundled_traps(FACT_NAMES).rules}
    for file in files:
        rules |= {rule.id: rule for rule in parse_traps(_bytes(file), file, FACT_NAMES).rules}
    return tuple(rules.values())


def _bytes(file: str) -> bytes:
    from auditor.reference.traps import MOST_BYTES

    try:
        with open(file, "rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {reason}", where=file, remedy="give a file of rules") from None


def _capability(gpu: str | None) -> str | None:
    from auditor.core.judging.traps import capability_of

    if gpu is None:
        return None
    found = capability_of(gpu)
    if found is None:
        raise UsageError(f"--gpu {gpu}: no compute capability is known for it", remedy="give it as 12.0")
    return found


def _asked(address: str, api_key: str | None, model: str | None) -> "ServerFacts":
    import asyncio

    from auditor.capture.access import access_to
    from auditor.capture.probe import probe
    from auditor.servers import load_adapters

    async def ask() -> "ServerFacts":
        access = access_to(address, api_key=api_key)
        async with access.probing_client() as client:
            facts, _ = await probe(client, base_url=access.url, key="subject", adapters=load_adapters(), model=model)
        return facts

    return asyncio.run(ask())


def _known(
    asked: "ServerFacts | None", log: "TrapLog | None", stated: str | None, hardware: "HostHardware | None"
) -> "Known":
    """What the server says now goes before what its log says; a stated GPU before one that was read, and both before
    what server and log say."""
    from auditor.core.hardware.judged import gpu_facts
    from auditor.core.judging.traps import known_of

    reading = log.reading if log else None
    facts = {name: fact for name, fact in (reading.facts if reading else {}).items() if fact.value is not None}
    if asked is not None:
        facts |= {name: fact for name, fact in asked.facts.items() if fact.value is not None}
    first = stated
    if hardware is not None:
        facts = {**gpu_facts(hardware), **facts}
        first = stated or hardware.capability
    kinds = [kind for kind in (asked.kind if asked else None, reading.engine if reading else None) if kind]
    return known_of(facts, kinds, first=first, last=log.traps.capability if log else None)


def _head(asked: "ServerFacts | None", log: "TrapLog | None", known: "Known", rules: int) -> str:
    parts = []
    if asked is not None:
        parts.append(f"{asked.url}: {asked.kind}")
    if log is not None:
        shape = "" if log.reading else ", no engine's log that is known"
        parts.append(f"{log.name}: {log.lines:,} lines{shape}")
    parts.append(f"{' or '.join(sorted(known.engines)) or 'engine not known'} {known.release or '(release not known)'}")
    parts.append(f"compute capability {known.capability}" if known.capability else "GPU not known: --gpu names it")
    return f"{'; '.join(parts)}; {rules} rules"


def _text(finding: "TrapFinding") -> str:
    lines = [f"\n{finding.severity}: {finding.title} ({finding.rule})"]
    lines += [f"  if      {words}" for words in finding.open]
    for evidence in finding.evidence:
        lines += [f"  seen    {_shown(evidence)}", *(f"          {other}" for other in evidence.others)]
    lines += [f"  so      {finding.consequence}", f"  do      {finding.remedy}"]
    lines += [f"  source  {source}" for source in finding.sources]
    return "\n".join(lines)


def _shown(evidence: "Evidence") -> str:
    if evidence.line is None:
        return f"{evidence.text}, {evidence.source}"
    more = f" and {evidence.times - 1:,} more" if evidence.times > 1 else ""
    return f"line {evidence.line}{more}: {evidence.text}"


def _sum(found: "tuple[TrapFinding, ...]") -> str:
    from auditor.reference.traps import SEVERITIES

    if not found:
        return "No trap shows. What is not printed and not asked is not seen."
    counts = {severity: sum(one.severity == severity for one in found) for severity in SEVERITIES}
    words = ", ".join(f"{count} {severity}" for severity, count in counts.items() if count)
    unsure = sum(bool(one.open) for one in found)
    return f"\n{len(found)} found: {words}" + (f"; {unsure} of them only if what is open is so" if unsure else "")


def _document(
    asked: "ServerFacts | None",
    log: "TrapLog | None",
    known: "Known",
    rules: int,
    found: "tuple[TrapFinding, ...]",
    notes: "tuple[Finding, ...]",
) -> dict[str, Any]:
    return {
        "server": None if asked is None else {"url": asked.url, "kind": asked.kind, "model": asked.model},
        "log": None if log is None else {"name": log.name, "lines": log.lines, "is_known": log.reading is not None},
        "engines": sorted(known.engines),
        "release": known.release,
        "compute_capability": known.capability,
        "facts": {name: fact.model_dump() for name, fact in known.facts.items()},
        "rules": rules,
        "findings": [finding.model_dump(mode="json") for finding in found],
        "hardware": [note.model_dump(mode="json") for note in notes],
    }
