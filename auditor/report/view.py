"""From the records of a judged run to the one view that the page shows. Pure: the same records give the same view."""

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.core.counting.ledger import Ledger
from auditor.core.facts import RunFacts
from auditor.core.hardware.telemetry import Sample
from auditor.core.judging.notlooked import NAMES
from auditor.core.judging.verdict import Verdict
from auditor.core.plan.plan import Plan
from auditor.report.acceptance import acceptance_section
from auditor.report.context import (
    compared_section,
    files_section,
    findings_section,
    glossary_section,
    not_looked_section,
    questions_section,
    repeat_section,
    unknown_section,
)
from auditor.report.counting import counting_section
from auditor.report.gaps import gaps_section
from auditor.report.head import head_of
from auditor.report.possible import possible_section
from auditor.report.rest import rest_section
from auditor.report.shown import visible
from auditor.report.speed import claimed_section, pairs_section
from auditor.report.timeline import timeline_section
from auditor.report.tokens import TokenDigest
from auditor.report.views import ReportView


@dataclass(frozen=True, slots=True)
class Source:
    """What a report is made of."""

    verdict: Verdict
    ledger: Ledger
    plan: Plan
    facts: RunFacts
    tokens: TokenDigest
    telemetry: Sequence[Sample]
    """The GPUs during the run; empty where they were not sampled."""
    digests: dict[str, str]
    """SHA-256 of the files of the folder, by name."""


def make_view(source: Source) -> ReportView:
    """Everything on the page, in order."""
    verdict, ledger = visible(source.verdict), visible(source.ledger)
    plan, facts = visible(source.plan), visible(source.facts)
    return ReportView(
        head=head_of(verdict, ledger),
        sections=(
            claimed_section(verdict),
            rest_section(verdict),
            counting_section(verdict),
            possible_section(verdict.ceiling),
            pairs_section(verdict),
            timeline_section(source.tokens, source.telemetry, _why_no_telemetry(verdict)),
            gaps_section(verdict.gaps, source.tokens, ledger, plan.subject.key),
            acceptance_section(verdict, ledger, source.tokens),
            compared_section(verdict),
            findings_section(verdict),
            not_looked_section(verdict),
            unknown_section(verdict.unknown),
            questions_section(verdict.questions),
            repeat_section(verdict, plan, facts),
            files_section(source.digests),
            glossary_section(),
        ),
        footer=f"auditor {verdict.run.tool_version}, run {verdict.run.run}, verdict version {verdict.verdict_version}",
    )


def _why_no_telemetry(verdict: Verdict) -> str | None:
    return next((one.why for one in verdict.not_looked_at if one.part == NAMES["telemetry"]), None)
