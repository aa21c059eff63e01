"""The sections around the numbers: what was compared, the checks, what is not known, how to repeat it, the files."""

from auditor.core.facts import RunFacts
from auditor.core.judging.compare import Comparison
from auditor.core.judging.verdict import Finding, Verdict
from auditor.core.plan.plan import Plan, kinds_of
from auditor.core.wording import plural
from auditor.report.shown import NOT_KNOWN, count, plain
from auditor.report.views import Block, Cell, Row, Section, Table, cells, columns
from auditor.terms import TERMS, Match, Outcome

_MATCHES = {
    Match.EQUAL: ("equal", "ok"),
    Match.DIFFERS: ("differs", "bad"),
    Match.UNKNOWN: ("not observed", "warn"),
    Match.UNSTATED: ("not stated", "plain"),
}
_ORDER = tuple(_MATCHES)


def compared_section(verdict: Verdict) -> Section:
    """What was compared, and whether it was the same."""
    rows = sorted(verdict.comparisons, key=lambda row: (row.match is not Match.DIFFERS, _ORDER.index(row.match)))
    shown = [row for row in rows if row.match is not Match.UNSTATED or row.weight == "decisive"]
    rest = [row for row in rows if row not in shown]
    heads = columns("Field", "Match", "Claimed", "Observed", "Where it was read")
    blocks = []
    if shown:
        blocks.append(Block(table=Table("The claim beside the measurement", heads, tuple(map(_comparison, shown)))))
    if rest:
        table = Table("Fields that the claim leaves open", heads, tuple(map(_comparison, rest)))
        words = f"{plural(len(rest), 'further field')} that the claim leaves open and that decide nothing"
        blocks.append(Block(table=table, summary=words))
    lead = "A difference in a decisive field makes the measurement another thing. Unknown is not equal."
    return Section("compared", "Was it the same thing?", (lead,), tuple(blocks))


def _comparison(row: Comparison) -> Row:
    word, mark = _MATCHES[row.match]
    observed = Cell(row.observed) if row.observed is not None else Cell(NOT_KNOWN)
    where = row.source or ""
    if row.reason:
        where = f"{where}: {row.reason}" if where else row.reason
    return cells(Cell(row.field, row.weight), Cell(word, "", mark), row.stated or "not stated", observed, where)


def findings_section(verdict: Verdict) -> Section:
    """The checks: failed, not available, held."""
    groups = {
        "Failed": [f for f in verdict.findings if f.outcome in (Outcome.FAILS, Outcome.ERROR)],
        "Could not be checked": [f for f in verdict.findings if f.outcome is Outcome.NOT_AVAILABLE],
        "Held": [f for f in verdict.findings if f.outcome in (Outcome.HOLDS, Outcome.NOT_APPLICABLE)],
    }
    blocks = []
    for name, found in groups.items():
        if not found:
            continue
        table = Table(name, columns("Check", "Found"), tuple(map(_finding, found)))
        if name == "Held":
            blocks.append(Block(table=table, summary=f"{plural(len(found), 'check')} held"))
        else:
            blocks.append(Block(heading=name, table=table))
    lead = () if groups["Failed"] else ("No check failed.",)
    return Section("findings", "Checks", lead, tuple(blocks))


_GRAVITY = {
    "dirty": "decides whether the evidence is clean",
    "invalid": "decides whether the output is valid",
    "thin": "decides whether the evidence is enough",
    "unconfirmed": "decides whether a reproduction can be believed",
    "note": "decides nothing",
}


def _finding(finding: Finding) -> Row:
    mark = {Outcome.FAILS: "bad", Outcome.ERROR: "bad", Outcome.HOLDS: "ok"}.get(finding.outcome, "plain")
    if finding.outcome is Outcome.FAILS and finding.gravity == "note":
        mark = "warn"
    word = finding.outcome.value.replace("_", " ")
    found = Cell(finding.sentence, f"What to do: {finding.remedy}" if finding.remedy else "")
    return cells(Cell(word, f"{finding.id}, {_GRAVITY[finding.gravity]}", mark), found)


def not_looked_section(verdict: Verdict) -> Section:
    """What this run did not look at."""
    title = "What this run did not look at, and why"
    if not verdict.not_looked_at:
        return Section("left-out", title, ("It looked at everything that this tool looks at.",), is_half=True)
    items = tuple(f"{one.part[:1].upper()}{one.part[1:]}: {one.why}" for one in verdict.not_looked_at)
    return Section("left-out", title, (), (Block(items=items),), is_half=True)


def unknown_section(unknown: tuple[str, ...]) -> Section:
    """What could not be known."""
    if not unknown:
        words = "Everything that was asked could be answered."
        return Section("unknown", "What could not be known", (words,), is_half=True)
    return Section("unknown", "What could not be known", (), (Block(items=unknown),), is_half=True)


_ASKED = 8
"""Questions that are shown; the others are folded away."""


def questions_section(questions: tuple[str, ...]) -> Section:
    """What to ask the claimant."""
    if not questions:
        return Section("questions", "Questions to the claimant", ("The claim leaves nothing open.",))
    lead = "What the claim leaves open. An answer can change the verdict."
    first, rest = questions[:_ASKED], questions[_ASKED:]
    blocks = [Block(items=first, numbered=True)]
    if rest:
        more = f"{plural(len(rest), 'further question')}, less weighty"
        blocks.append(Block(items=rest, numbered=True, first=_ASKED + 1, summary=more))
    return Section("questions", "Questions to the claimant", (lead,), tuple(blocks))


def repeat_section(verdict: Verdict, plan: Plan, facts: RunFacts) -> Section:
    """How to repeat the run."""
    run = verdict.run
    sampling = f"temperature {plan.temperature:g}" + (f", top_p {plan.top_p:g}" if plan.top_p is not None else "")
    length = "forced to full length (ignore_eos)" if plan.ignore_eos else "ended by the model"
    stamps = "the kernel’s receive times" if facts.kernel_stamps else "the client’s read times"
    about = (
        ("Run", f"{run.run}, {run.started}"),
        ("Tool", f"auditor {run.tool_version}"),
        ("Plan", f"SHA-256 {run.plan_digest}, fixed before the first request"),
        ("Seed of the nonces", str(plan.seed)),
        ("Sampling", f"{sampling}; answers {length}; {plan.api} endpoint"),
        ("Clock", f"{facts.clock}; {stamps}"),
        ("Client", f"{facts.host.platform}, {plural(facts.host.cpus, 'CPU')}, Python {facts.host.python}"),
    )
    loads = []
    for cell in plan.cells:
        prompts = plain(", ".join(cell.prompts), 200)
        numbers = (count(cell.streams), count(cell.repeats), count(cell.requests), count(cell.max_tokens))
        name = Cell(cell.key, f"server “{cell.server}”, {cell.role}")
        loads.append(cells(name, *numbers, Cell(", ".join(kinds_of(plan, cell)), prompts)))
    heads = columns("Load", "#Streams", "#Repeats", "#Requests each", "#Tokens asked for", "Prompts")
    servers = [
        Block(table=_facts_table(key, facts), summary=f"What server “{key}” says of itself ({server.kind})")
        for key, server in facts.servers.items()
    ]
    blocks = (
        Block(code=run.command),
        Block(table=Table("The run", columns("", ""), tuple(cells(*pair) for pair in about))),
        Block(table=Table("What was sent", heads, tuple(loads))),
        *servers,
    )
    lead = "The same folder gives the same verdict on any machine: `audit judge RUN`. To measure again:"
    return Section("repeat", "How to repeat it", (lead,), blocks)


def _facts_table(key: str, facts: RunFacts) -> Table:
    server = facts.servers[key]
    rows = [
        cells("address", server.url, "as given"),
        cells("kind", server.kind, server.kind_reason),
        cells("model asked for", server.model, "this tool’s requests"),
    ]
    for name, fact in sorted(server.facts.items()):
        value = NOT_KNOWN if fact.value is None else str(fact.value)
        rows.append(cells(name.replace("_", " "), value, (fact.source if fact.reason is None else fact.reason) or ""))
    for field, sent in sorted(server.request_fields.items()):
        rows.append(cells(f"request field {field}", plain(str(sent), 200), "sent with every request"))
    for field, words in sorted(server.dropped_fields.items()):
        rows.append(cells(f"request field {field}", "refused", words))
    return Table(f"Server {key}", columns("What", "Value", "Where it was read, or why not"), tuple(rows))


def files_section(digests: dict[str, str]) -> Section:
    """The files of the run folder."""
    rows = tuple(cells(name, digest) for name, digest in digests.items())
    lead = "Everything in this report follows from the files below, which lie beside it."
    table = Table("SHA-256 of each file", columns("File", "SHA-256"), rows)
    words = f"{plural(len(rows), 'file')} and their SHA-256"
    return Section("files", "Files and digests", (lead,), (Block(table=table, summary=words),), True)


def glossary_section() -> Section:
    """The symbols of the page."""
    rows = []
    for term in TERMS.values():
        name = term.name.removesuffix("_ns").replace("_", " ")
        formula = f"= {term.formula}" if term.formula else ""
        rows.append(cells(f"{term.symbol}, {name}" if term.symbol else name, Cell(term.meaning, formula)))
    table = Table("Terms", columns("Term", "Meaning"), tuple(rows))
    return Section("glossary", "Glossary", (), (Block(table=table, summary=f"{plural(len(rows), 'term')}"),), True)
