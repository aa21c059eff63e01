"""Whether the server answers what can be checked, and whether it is the model of a reference run."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.validity.canaries import CanaryKind
from auditor.core.validity.fingerprint import compare, mean_logprob
from auditor.core.wording import figure, listed
from auditor.terms import Outcome

FEW = 0.1
"""Share of right answers below which, if no list was copied either, no model answers."""
FEWEST_BEFORE = 3
"""Right answers before the load, of which none after it tells of the server."""
UNSURE_NATS = -3.0
"""Mean log-probability of greedy tokens below which a model does not believe its text: sound ones lie above -1.5."""
_KINDS: tuple[CanaryKind, ...] = ("copy", "arithmetic", "json", "needle")


def canaries_answered(c: Context) -> Answer:
    """Are questions with known answers answered, before and after the load?"""
    canaries = c.canaries
    if canaries is None:
        return not_available("no questions with known answers were asked", gravity="note")
    right, answered = canaries.passed()
    if not answered:
        why = next((answer.problem for answer in canaries.answers if answer.problem), "no answer came")
        return not_available(f"questions with known answers were not answered: {why}", gravity="note")
    before, after = canaries.passed("before"), canaries.passed("after")
    by_kind = {kind: canaries.passed(kinds=(kind,)) for kind in _KINDS}
    each = listed([f"{passed} of {of} {kind}" for kind, (passed, of) in by_kind.items() if of])
    if before[0] >= FEWEST_BEFORE and after[1] and not after[0]:
        words = (
            f"{before[0]} of {before[1]} questions with known answers were answered before the load and none after it"
        )
        return fails(words, "the server broke under the load: see its log")
    if by_kind["copy"][1] and not by_kind["copy"][0] and right <= FEW * answered:
        words = f"of the questions with known answers hardly one is answered: {each}; not even a list is copied"
        return fails(
            words, "a model of any size copies a list: mend the back end, or ask a model that takes instructions"
        )
    words = f"of the questions with known answers {right} of {answered} are answered rightly: {each}"
    mean, known, lacking = mean_logprob(canaries)
    if mean is not None:
        words += f"; greedy tokens have a mean log-probability of {figure(mean, digits=3)}"
        if lacking or mean < UNSURE_NATS:
            words += f", and {lacking} of {known + lacking} have none" if lacking else ""
            return fails(words, "look at the logits", "note")
    if right < answered:
        return fails(words, "a small model fails some honestly: compare with the same model elsewhere", "note")
    return holds(words)


def fingerprint(c: Context) -> Answer:
    """Are the model's log-probabilities those of the reference run?"""
    if c.reference is None:
        return Answer(Outcome.NOT_APPLICABLE, "no reference run was given")
    if c.canaries is None:
        return not_available("this run asked for no log-probabilities to compare with the reference", gravity="note")
    found = compare(c.canaries, c.reference.canaries)
    beside = f"run {c.reference.run} ({c.reference.canaries.model})"
    if found.outcome == "unknown":
        return not_available(f"whether it is the model of {beside} is not known: {found.why}", gravity="note")
    noise = f"batch shapes move them by up to {figure(found.noise or 0.0, digits=3)}"
    words = f"by up to {figure(found.worst, digits=3)} nats at {found.positions} tokens of fixed prompts, and {noise}"
    if found.outcome == "same":
        return holds(f"log-probabilities are those of {beside}: they differ {words}")
    words = (
        f"log-probabilities are not those of {beside}: {found.beyond} of the tokens differ by more than noise, {words}"
    )
    return fails(words, "another model, quantisation or back end: compare what both servers say of themselves")
