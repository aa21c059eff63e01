"""Whether rules that agree about the claim part under the further measurement that was planned for it."""

from itertools import combinations

from auditor.core.bases import BasisValue, Load, bases_of, find
from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.explain.discrimination import CELL, Discrimination
from auditor.core.explain.record import Prediction
from auditor.core.wording import figure, span
from auditor.terms import Outcome


def rules_parted(c: Context) -> Answer:
    """Do rules that agreed about the claim in an earlier run differ where this one measured further?"""
    asked = c.plan.discriminates
    if asked is None:
        return Answer(Outcome.NOT_APPLICABLE, "no further measurement was planned to part rules")
    cell = c.account.ledger.cell(CELL)
    if cell is None or not any(one.complete for one in cell.rounds):
        return not_available(f"{asked.change} was planned and not measured", "run it again to its end")
    lines = [line for line in c.account.ledger.exchanges if line.cell == CELL]
    gpus = c.facts.servers[cell.server].value("gpu_count")
    bases = bases_of(cell, Load(cell.streams, gpus if isinstance(gpus, int) else None), lines)
    pairs = [(one, find(bases, one.rule)) for one in asked.predictions]
    found = [(one, basis) for one, basis in pairs if basis is not None and basis.estimate is not None]
    if len(found) < 2:
        return not_available(f"with {asked.change}, fewer than two of the rules could be counted")
    words = f"with {asked.change}, {'; '.join(_words(one, basis) for one, basis in found)}"
    ends = [_ends(basis) for _, basis in found]
    if all(one[1] < two[0] or two[1] < one[0] for one, two in combinations(ends, 2)):
        return holds(f"{words}; {_use(asked)}")
    return fails(f"{words}: not all of them part", "repeat more often, or change the draft width of the server")


def _words(one: Prediction, basis: BasisValue) -> str:
    low, high = _ends(basis)
    return f"{basis.name} is {span(low, high)} tok/s (predicted {figure(one.value)})"


def _ends(basis: BasisValue) -> tuple[float, float]:
    estimate = basis.estimate
    assert estimate is not None  # only rules with a value are laid beside each other
    low = estimate.value if estimate.low is None else estimate.low
    return low, estimate.value if estimate.high is None else estimate.high


def _use(asked: Discrimination) -> str:
    return f"the claimant's number with {asked.change} would tell which of them run {asked.run} met"
