"""What may be said of a match, and what a witness must be."""

from pathlib import Path

import pytest

from auditor.core.bases import BasisValue
from auditor.core.explain.aliases import cheapest
from auditor.core.explain.closedloop import Setting, geometric
from auditor.core.explain.matching import CAUTION, Number, backs, explain, reading_of
from auditor.core.explain.record import Explanation, Reading, Witness, WitnessFigure
from auditor.core.stats import Estimate
from auditor.core.wording import figure, listed, numbers, percent, span

LIMIT = 0.03
CLAIM = Number("219 tok/s", 218.5, 219.5)
DIGEST = "ab" * 32


def value(identifier: str, estimate: Estimate | None, *, honest: bool = False) -> BasisValue:
    reason = None if estimate else "needs drafts counted by the server"
    return BasisValue(
        id=identifier, name=f"the rule {identifier}", formula="x", is_honest=honest, estimate=estimate, reason=reason
    )


def interval(low: float, high: float) -> Estimate:
    return Estimate(value=(low + high) / 2, low=low, high=high, n=3)


def explained(*values: BasisValue, witnesses: tuple[Witness, ...] = (), claim: Number = CLAIM) -> Explanation:
    return explain(
        claim,
        [reading_of(one, claim, LIMIT) for one in values],
        given="a test",
        delivered=values[0].estimate,
        delivered_id=values[0].id,
        limit=LIMIT,
        setting_of=lambda reading: None,
        witnesses=witnesses,
    )


DELIVERED = value("delivered/decode", interval(124, 126), honest=True)
MATCH = value("delivered+drafted/request", interval(217, 221))


@pytest.mark.parametrize(
    ("estimate", "state"),
    [
        (interval(217, 221), "meets"),
        (interval(219.5, 223), "meets"),
        (interval(219.6, 223), "misses"),
        (interval(210, 218.4), "misses"),
        (interval(205, 233), "too wide"),
        (interval(230, 260), "misses"),
        (Estimate(value=219.0, n=1), "meets once"),
        (Estimate(value=220.0, n=1), "misses"),
        (Estimate(value=0.0, low=0.0, high=0.0, n=3), "misses"),
        (None, "not counted"),
    ],
)
def test_a_rule_meets_the_claim_by_intervals_alone(estimate: Estimate | None, state: str) -> None:
    assert reading_of(value("a", estimate), CLAIM, LIMIT).state == state


def test_the_widest_interval_that_matches_is_three_percent() -> None:
    assert reading_of(value("a", interval(97, 103)), Number("100", 99.5, 100.5), LIMIT).state == "meets"
    assert reading_of(value("a", interval(96.9, 103.1)), Number("100", 99.5, 100.5), LIMIT).state == "too wide"


def test_a_match_is_not_proven_without_a_witness() -> None:
    found = explained(DELIVERED, MATCH)
    assert found.matches == ("delivered+drafted/request",)
    assert found.explained_by == ()
    assert found.words == (
        "219 tok/s matches the rule delivered+drafted/request (217 to 221 tokens/s); not proven without a witness.",
    )
    assert found.caution == CAUTION


def test_a_match_without_an_interval_is_said_to_be_one() -> None:
    found = explained(DELIVERED, value("b", Estimate(value=219.0, n=1)))
    assert (found.matches, found.matches_once) == ((), ("b",))
    assert found.words[0].startswith("By its value alone, without an interval, 219 tok/s matches the rule b")
    assert found.words[0].endswith("not proven without a witness.")


def test_without_a_match_the_cause_is_unknown() -> None:
    assert explained(DELIVERED).words == ("219 tok/s matches none of 1 readings; what it counts is not known.",)
    assert explained(value("a", None)).words == ("No rule could be tried: nothing was counted.",)


def witness(**changes: object) -> Witness:
    fields: dict[str, object] = {
        "rule": "delivered+drafted/request",
        "kind": "claimant",
        "artefact_sha256": DIGEST,
        "origin": "the claimant's log",
        "at": "2026-03-12T10:15:00+00:00",
        "figures": (WitnessFigure(text="219.0", low=218.95, high=219.05),),
    }
    return Witness.model_validate({**fields, **changes})


def test_a_witness_makes_it_explained() -> None:
    found = explained(DELIVERED, MATCH, witnesses=(witness(),))
    assert found.explained_by == ("delivered+drafted/request",)
    assert found.words == (
        "219 tok/s is explained by the rule delivered+drafted/request (217 to 221 tokens/s), as the claimant's log shows "
        "(2026-03-12T10:15:00+00:00, SHA-256 abababababab).",
    )


def printed(*figures: tuple[str, float]) -> Witness:
    """What a fork prints at some settings, where the rule gives 100 and 200."""
    predicted = {"k = 1": interval(99, 101), "k = 2": interval(198, 202)}
    return witness(
        kind="printed",
        figures=tuple(
            WitnessFigure(
                text=str(number), low=number - 0.5, high=number + 0.5, setting=setting, predicted=predicted[setting]
            )
            for setting, number in figures
        ),
    )


@pytest.mark.parametrize(
    ("one", "is_backed"),
    [
        (witness(), True),
        (witness(rule="drafted/request"), False),
        (witness(rule="delivered+drafted"), True),
        (witness(rule="delivered"), False),
        (witness(artefact_sha256=""), False),
        (witness(origin=""), False),
        (witness(at=""), False),
        (witness(figures=()), False),
        (witness(figures=(WitnessFigure(text="130", low=129.5, high=130.5),)), False),
        (printed(("k = 1", 100.0), ("k = 2", 200.0)), True),
        (printed(("k = 1", 100.0)), False),
        (printed(("k = 1", 100.0), ("k = 1", 100.4)), False),
        (printed(("k = 1", 100.0), ("k = 2", 150.0)), False),
    ],
)
def test_what_makes_a_witness(one: Witness, is_backed: bool) -> None:
    assert backs(one, reading_of(MATCH, CLAIM, LIMIT), CLAIM) is is_backed


def test_a_witness_for_a_rule_that_misses_explains_nothing() -> None:
    far = value("delivered+drafted/request", interval(300, 303))
    assert explained(DELIVERED, far, witnesses=(witness(),)).explained_by == ()


def readings(*identifiers: str) -> list[Reading]:
    return [reading_of(value(one, interval(217, 221)), CLAIM, LIMIT) for one in identifiers]


SERVER = Setting(streams=4, output_tokens=200, token_ns=1e7, wait_ns=1e9, prompt_tokens=100, requested=200, width=3,
                 drafted=3, reached=geometric(1.5, 3), gpus=4)  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "change"),
    [
        # a wait of 1 s weighs more in a shorter answer
        (("delivered/decode", "delivered/request"), "answers half as long"),
        # four streams become eight; one stream stays as it is
        (("decode-x-streams", "delivered/decode"), "twice the streams"),
        # 3 / 2.5 drafted per delivered become 2 / 2.2; verified positions 4 / 2.5 become 3 / 2.2
        (("drafted/decode", "delivered/decode"), "k = 2 instead of 3"),
        (("delivered+drafted/decode", "decode-x-gpus"), "k = 2 instead of 3"),
        (("decode-x-gpus", "delivered/decode"), "half the GPUs"),
    ],
)
def test_the_cheapest_measurement_that_parts_two_rules(rules: tuple[str, str], change: str) -> None:
    found = cheapest(readings(*rules), lambda reading: SERVER, 0.002)
    assert found is not None
    assert found.change == change
    assert found.parts_all
    one, other = found.predictions
    assert one.high < other.low or other.high < one.low


def test_rules_that_are_the_same_by_construction_are_never_parted() -> None:
    """Where every step drafts k, full acceptance and verified positions are one rule."""
    group = readings("verified/decode", "full/decode")
    assert cheapest(group, lambda reading: SERVER, 0.002) is None
    assert cheapest(group, lambda reading: None, 0.002) is None


def test_of_three_rules_the_change_that_parts_most_is_named() -> None:
    found = cheapest(readings("verified/decode", "full/decode", "delivered/request"), lambda reading: SERVER, 0.002)
    assert found is not None
    assert not found.parts_all


@pytest.mark.parametrize(
    ("number", "marks", "text"),
    [
        (129.96, (), "130"),
        (129.96, (130,), "129.96"),
        (129.4999, (129.5,), "129.4999"),
        (5816, (), "5,816"),
        (0.0457, (), "0.0457"),
        (1234567, (), "1,234,567"),
        (99.999, (100,), "99.999"),
    ],
)
def test_rounding_never_reaches_the_claim(number: float, marks: tuple[float, ...], text: str) -> None:
    assert figure(number, marks) == text


def test_words_of_numbers() -> None:
    assert span(1.0, 1.00001) == "1"
    assert span(2.5, 3.5) == "2.5 to 3.5"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert numbers([3]) == "3"
    assert numbers([3, 4, 5]) == "3 to 5"
    assert numbers([3, 5]) == "3, 5"
    assert percent(0.144) == "14 %"
    assert percent(0.9999) == "99.99 %"
    assert percent(0.0) == "0 %"


@pytest.mark.usefixtures("wide")
def test_no_word_for_people_calls_a_way_of_counting_honest() -> None:
    """Labels say what a rule counts; none judges whoever uses another."""
    from auditor.cli.explaintext import bases_text
    from auditor.terms import VerdictKind

    shown = bases_text([value("delivered/decode", interval(124, 126), honest=True)], [], None, "subject")
    assert "usual label" in shown
    root = Path(__file__).parents[2]
    page = (root / "docs" / "explain.md").read_text() + (root / "README.md").read_text()
    for text in (shown, page, VerdictKind.UNLABELLED.meaning):
        assert "honest" not in text


def test_an_interval_down_to_nothing_is_not_nothing() -> None:
    from auditor.core.explain.backwards import factor_words
    from auditor.core.explain.matching import Number

    claim = Number("77", 76.5, 77.5)
    assert "reaches down to 0: too wide" in factor_words(claim, 0, 253)
    assert factor_words(claim, 0, 0) == "Nothing was delivered."
