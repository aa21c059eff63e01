"""Acceptance under its three definitions."""

import pytest

from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.explain.acceptance import acceptance_of, length_of
from auditor.core.explain.closedloop import geometric

PER_DRAFTED, PER_POSITION, WITH_BONUS = AcceptanceDefinition


@pytest.mark.parametrize(
    ("acceptance", "width", "definition", "length"),
    [
        (0.61, 2, PER_DRAFTED, 2.22),
        (0.61, 2, PER_POSITION, 1 + 0.61 + 0.61**2),
        (0.61, 2, WITH_BONUS, 1.83),
        (1, 3, PER_DRAFTED, 4),
        (1, 3, PER_POSITION, 4),
        (1, 3, WITH_BONUS, 4),
        (0, 3, PER_DRAFTED, 1),
        (0, 3, PER_POSITION, 1),
        # A log line of SGLang and one of vLLM for the same steps: length 2.7 at k = 3.
        (0.675, 3, WITH_BONUS, 2.7),
        (0.5666667, 3, PER_DRAFTED, 2.7),
    ],
)
def test_the_length_that_an_acceptance_means(
    acceptance: float, width: int, definition: AcceptanceDefinition, length: float
) -> None:
    assert length_of(acceptance, width, definition) == pytest.approx(length, abs=1e-6)
    assert acceptance_of(length, width, definition) == pytest.approx(acceptance, abs=1e-6)


def test_a_step_gives_its_bonus_token_at_least() -> None:
    assert length_of(0.2, 3, WITH_BONUS) is None
    assert length_of(0.25, 3, WITH_BONUS) == 1


@pytest.mark.parametrize("definition", AcceptanceDefinition)
def test_no_acceptance_gives_more_than_every_draft(definition: AcceptanceDefinition) -> None:
    assert acceptance_of(4.01, 3, definition) is None
    assert acceptance_of(0.99, 3, definition) is None


@pytest.mark.parametrize("accepted", [0.0, 0.3, 1.7, 3.0])
def test_the_geometric_series_accepts_as_many(accepted: float) -> None:
    shares = geometric(accepted, 3)
    assert sum(shares) == pytest.approx(accepted, abs=1e-6)
    assert list(shares) == sorted(shares, reverse=True)
