"""Whether the server says what the model says without speculation."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.facts import FactName
from auditor.core.judging.textcheck import COMPARED, LEAST_NOISE, TextCheck, check_text
from auditor.core.wording import figure, plural
from auditor.terms import Outcome

_SAME: tuple[FactName, ...] = ("model", "quantisation")
"""What must be known to be equal on both servers for a difference to be the work of speculation."""
FEWEST = 2
"""Answers that must differ by more than noise."""


def greedy_text(c: Context) -> Answer:
    """Is the greedy text that of the same server without speculation, but for near ties?"""
    if c.plan.temperature != 0:
        return Answer(Outcome.NOT_APPLICABLE, "texts are compared at temperature 0 only")
    if any(cell.key == COMPARED for cell in c.plan.cells):
        found = check_text(c.account.counted)
        if found is None:
            return not_available("the plain server gave no log-probabilities to compare texts by", gravity="note")
        return _judged(c, found)
    reference = next((cell for cell in c.plan.cells if cell.role == "reference"), None)
    texts = {
        (item.line.cell, item.line.repeat, item.line.index): item.line.text_sha256
        for item in c.account.counted
        if item.line.status == "complete"
    }
    pairs = [
        (text, texts[reference.key, repeat, index])
        for (cell, repeat, index), text in texts.items()
        if reference is not None and cell == c.plan.subject.key and (reference.key, repeat, index) in texts
    ]
    if not pairs:
        return Answer(Outcome.NOT_APPLICABLE, "no server without speculation was measured beside it")
    differing = sum(one != other for one, other in pairs)
    if not differing:
        return holds(f"no text of {plural(len(pairs), 'answer')} differs from that of the server without speculation")
    words = f"{differing} of {len(pairs)} texts differ from those without speculation; near ties alone do that too"
    return not_available(words, "--check-text measures whether by more than noise", "note")


def _judged(c: Context, found: TextCheck) -> Answer:
    limit = max(found.noise, LEAST_NOISE)
    noise = f"{figure(limit)} nats, as far as batch shapes move them"
    counting = found.counting
    if not counting:
        near = f"; {len(found.divergences)} leave it at near ties, within {noise}" if found.divergences else ""
        return holds(f"the greedy text of {found.answers} answers is that of the server without speculation{near}")
    worst = max(counting, key=lambda one: one.gap)
    words = (
        f"{len(counting)} of {found.answers} greedy texts leave that of the server without speculation where the model "
        f"prefers its own token by more than {noise}: the text of request {worst.index} at token {worst.position}, "
        f"by {figure(worst.gap)} nats"
    )
    facts = [c.facts.servers[c.plan.cell(key).server] for key in (COMPARED, "text-plain")]
    unequal = [name for name in _SAME if facts[0].value(name) is None or facts[0].value(name) != facts[1].value(name)]
    if unequal:
        remedy = f"the two servers are not known to be equal in {' and '.join(unequal)}"
        return fails(words, remedy, "note")
    remedy = "drafts are accepted that the model would not have chosen, or the two servers compute otherwise"
    return fails(words, remedy, None if len(counting) >= FEWEST else "note")
