"""What a check looks at and how it answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from auditor.core.counting.account import Account
from auditor.core.counting.ledger import CellLedger, ExchangeLedger
from auditor.core.facts import RunFacts
from auditor.core.judging.verdict import Finding, Gravity
from auditor.core.plan.plan import Plan
from auditor.core.runlog import Timeline
from auditor.core.stats import Estimate
from auditor.core.validity.canaries import Canaries, Reference
from auditor.terms import Outcome


@dataclass(frozen=True, slots=True)
class Context:
    """The run, as the checks see it."""

    plan: Plan
    facts: RunFacts
    account: Account
    judged: Estimate | None
    """The rate that is compared with the claim."""
    timeline: Timeline | None = None
    """The server's own log of the run; None where none was given."""
    canaries: Canaries | None = None
    """Questions with known answers; None where none were asked."""
    reference: Reference | None = None
    """Those of another run of the same model."""

    @property
    def lines(self) -> list[ExchangeLedger]:
        """The measured exchanges of the judged cell."""
        return [line for line in self.account.ledger.exchanges if line.cell == self.plan.subject.key]

    @property
    def subject(self) -> CellLedger | None:
        """The judged cell; None when nothing of it was measured."""
        return self.account.ledger.cell(self.plan.subject.key)

    def texts(self) -> Iterator[tuple[ExchangeLedger, str]]:
        """The delivered text of each complete answer of the judged cell."""
        for item in self.account.counted:
            if item.line.cell == self.plan.subject.key and item.line.status == "complete":
                yield item.line, item.stream.text


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check found."""

    outcome: Outcome
    sentence: str
    remedy: str | None = None
    gravity: Gravity | None = None
    """Where it differs from the check's own."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question, and what a failure does to the verdict."""

    id: str
    gravity: Gravity
    ask: Callable[[Context], Answer]

    def run(self, context: Context) -> Finding:
        """The answer as a finding."""
        answer = self.ask(context)
        return Finding(
            id=self.id,
            outcome=answer.outcome,
            gravity=answer.gravity or self.gravity,
            sentence=answer.sentence,
            remedy=answer.remedy,
        )


def holds(sentence: str) -> Answer:
    """It is as it should be."""
    return Answer(Outcome.HOLDS, sentence)


def fails(sentence: str, remedy: str, gravity: Gravity | None = None) -> Answer:
    """It is not."""
    return Answer(Outcome.FAILS, sentence, remedy, gravity)


def not_available(sentence: str, remedy: str | None = None, gravity: Gravity | None = None) -> Answer:
    """It cannot be told from this evidence."""
    return Answer(Outcome.NOT_AVAILABLE, sentence, remedy, gravity)
