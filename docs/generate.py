"""Writes the parts of the documentation that come from the code: `make docs`. A test fails when they are stale."""

import re
import subprocess
import sys
from pathlib import Path

from auditor.cli.root import COMMANDS
from auditor.core.adapter import NOTES, Adapter
from auditor.core.bases.numerators import NUMERATORS
from auditor.core.bases.others import OTHERS
from auditor.core.checks import CHECKS
from auditor.core.enginelogs import ENGINES
from auditor.core.imports.formats import FORMATS
from auditor.core.imports.record import Grade
from auditor.core.observed import FACT_NAMES
from auditor.errors import Exit
from auditor.reference.traps import Rule, bundled_traps
from auditor.servers import load_adapters
from auditor.terms import TERMS, VerdictKind

ROOT = Path(__file__).resolve().parent.parent


def commands() -> str:
    """The commands and their one line."""
    return _table(("command", "what it does"), [(f"`audit {name}`", line) for name, (_, line) in COMMANDS.items()])


def verdicts() -> str:
    """The verdicts, their meaning and exit code."""
    rows = [(f"**{kind.value}**", kind.meaning, str(int(kind.exit_code))) for kind in VerdictKind]
    return _table(("verdict", "when", "exit"), rows)


def exits() -> str:
    """The exit codes."""
    return _table(("exit", "meaning"), [(str(int(code)), code.meaning) for code in Exit])


def glossary() -> str:
    """The terms with their formulas."""
    rows = [(t.symbol, f"`{t.name}`", t.unit, f"`{t.formula}`" if t.formula else "", t.meaning) for t in TERMS.values()]
    return _table(("symbol", "name", "unit", "formula", "meaning"), rows)


def checks() -> str:
    """The checks, the question each asks, and what a failure does."""
    rows = [(f"`{check.id}`", (check.ask.__doc__ or "").strip().splitlines()[0], check.gravity) for check in CHECKS]
    return _table(("check", "question", "a failure is"), rows)


def bases() -> str:
    """The counting rules: those over several clocks in one row."""
    rows = [
        (f"`{n.id}/`{', '.join(n.clocks)}", n.name, f"`{n.formula}`", n.unit, "yes" if n.is_honest else "", n.needs)
        for n in NUMERATORS
    ]
    rows += [(f"`{b.id}`", b.name, f"`{b.formula}`", b.unit, "yes" if b.is_honest else "", b.needs) for b in OTHERS]
    return _table(("rule", "counts", "formula", "unit", "usual label", "needs"), rows)


def engine_logs() -> str:
    """The engines whose logs are read."""
    rows = [(e.title, e.seen, e.averaging, "<br>".join(e.cannot_tell)) for e in ENGINES]
    return _table(("engine", "lines seen", "a line averages", "cannot be told from it"), rows)


def servers() -> str:
    """The kinds of server, and how far each was seen."""
    rows = [
        (f"`{a.name}`", a.title, a.seen_live or "not seen live", a.switches or "", a.source, ", ".join(_apis(a)))
        for a in load_adapters().values()
    ]
    return _table(("kind", "server", "seen live", "to switch on", "shapes read from", "`--api`"), rows)


def _apis(adapter: Adapter) -> list[str]:
    return [api for api in ("chat", "completions", "native") if adapter.route(api)]


def server_terms() -> str:
    """What can be had of each term, server by server."""
    shown = {"exact": "exact", "nominal": "nominal", "absent": "–"}
    rows = [(a.title, *(shown[a.notes[term].kind] for term in NOTES)) for a in load_adapters().values()]
    return _table(("server", *(term.replace("_", " ") for term in NOTES)), rows)


def server_notes() -> str:
    """The same in words."""
    parts = []
    for adapter in load_adapters().values():
        rows = [(term.replace("_", " "), note.kind, note.why) for term, note in adapter.notes.items()]
        parts.append(f"### {adapter.title}\n\n{_table(('term', '', 'from where, or why not'), rows)}")
    return "\n\n".join(parts)


def import_grades() -> str:
    """The grades of an imported file, and the verdict that each can carry at most."""
    rows = [(f"**{grade.value}**", grade.meaning, f"*{grade.strongest.value}*") for grade in Grade]
    return _table(("grade", "what is in the file", "strongest verdict"), rows)


def import_formats() -> str:
    """The formats that `audit import` reads."""
    rows = [(one.tool, one.seen or "*documented shape*", one.source, "<br>".join(one.wrong)) for one in FORMATS]
    return _table(("tool", "tried on", "shape read from", "known of its counting"), rows)


def traps() -> str:
    """The rules of `audit doctor`, in the order of their file."""
    head = ("rule", "trap", "severity", "concerns", "shows by any of", "consequence", "remedy", "sources")
    rows = [
        (f"`{r.id}`", r.title, r.severity, _concerned(r), _signs(r), r.consequence, r.remedy, "<br>".join(r.sources))
        for r in bundled_traps(FACT_NAMES).rules
    ]
    return _table(head, rows)


def _concerned(rule: Rule) -> str:
    parts = [", ".join(rule.engines), *(f"compute capability {one}" for one in rule.capability)]
    parts += [f"from {rule.since} on" if rule.since else "", f"before {rule.before}" if rule.before else ""]
    return ", ".join(part for part in parts if part) or "all"


def _signs(rule: Rule) -> str:
    return "<br>".join(
        " and ".join(
            [f"`{line}`" for line in sign.lines]
            + [f"no `{line}`" for line in sign.absent]
            + [f"{fact.name} {fact.op.replace('_', ' ')} {_value(fact.value)}" for fact in sign.facts]
        )
        for sign in rule.signs
    )


def _value(value: bool | int | float | str | tuple[str, ...]) -> str:
    return " or ".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)


def traps_signless() -> str:
    """Faults that are told of and that nothing shows."""
    return _table(
        ("fault", "why there is no rule"), [(one.title, one.why) for one in bundled_traps(FACT_NAMES).signless]
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


PARTS = {
    "bases": bases,
    "engine-logs": engine_logs,
    "commands": commands,
    "verdicts": verdicts,
    "exits": exits,
    "glossary": glossary,
    "checks": checks,
    "servers": servers,
    "server-terms": server_terms,
    "server-notes": server_notes,
    "import-grades": import_grades,
    "import-formats": import_formats,
    "traps": traps,
    "traps-signless": traps_signless,
}
FILES = (
    "README.md",
    "docs/verdicts.md",
    "docs/glossary.md",
    "docs/explain.md",
    "docs/engine-logs.md",
    "docs/servers.md",
    "docs/traps.md",
    "docs/import.md",
)


def refreshed(text: str) -> str:
    """The text with every part between `<!-- name -->` and `<!-- end -->` written anew."""

    def part(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{PARTS[match[1]]()}\n<!-- end -->"

    return re.sub(rf"<!-- ({'|'.join(PARTS)}) -->\n.*?<!-- end -->", part, text, flags=re.DOTALL)


def main() -> int:
    """Write every file anew."""
    for name in FILES:
        path = ROOT / name
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return subprocess.run(["git", "diff", "--stat", "--", *FILES], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
