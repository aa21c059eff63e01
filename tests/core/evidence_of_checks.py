"""A context for checks, of recorded or simulated rounds."""

from typing import Any

from runs import Cells, account, facts_of, plan_of

from auditor.core.checks import Context
from auditor.core.facts import ServerFacts
from auditor.core.folder import Recount
from auditor.core.stats import Estimate


def context_of(
    cells: Cells,
    *,
    judged: Estimate | None = None,
    recount: Recount | None = None,
    server: dict[str, Any] | None = None,
    **plan: Any,
) -> Context:
    """The context of a run on these rounds; `server` changes the facts of the judged server, `plan` the plan."""
    facts = facts_of(cells)
    subject: ServerFacts = facts.servers["subject"].model_copy(update=server or {})
    facts = facts.model_copy(update={"servers": {**facts.servers, "subject": subject}})
    return Context(plan_of(cells, **plan), facts, account(cells, recount), judged)
