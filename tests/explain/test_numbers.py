"""The disputed claim from a few numbers: 130 to 150 tok/s, and what its disputer measured."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from auditor.core.claim.claim import Case, parse_claim
from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.explain.given import Given
from auditor.core.explain.matching import Number
from auditor.core.explain.numbers import from_numbers
from auditor.core.explain.record import Backward, Explanation, Reading
from auditor.errors import UsageError

FORK = Path(__file__).parents[2] / "claims" / "fork-130tps.yaml"
MEASURED = Given(Number("39.6", 39.55, 39.65), width=2, acceptance=(0.61, 0.85), gpus=4)
PLAIN = Given(Number("50.5", 50.45, 50.55), gpus=4)
DEFINITIONS = [definition.value for definition in AcceptanceDefinition]


def fork() -> Case:
    return parse_claim(FORK.read_text(), str(FORK)).case(None)


def claim(number: str) -> Case:
    return parse_claim(f"schema: 1\nid: made-up\ntitle: made up\nreported: {{{number}}}\n", "made-up").case(None)


def explained(case: Case, given: Given, *, as_events: bool = False) -> Explanation:
    found = from_numbers(case, given, 0.03, as_events=as_events)
    assert found is not None
    return found


def ends(found: Explanation, name: str) -> dict[str | None, tuple[float, float]]:
    """Of a rule, the values at the lowest and highest acceptance, by definition."""
    return {reading.definition: reading.ends for reading in found.readings if reading.name == name and reading.ends}


def by_id(items: Iterable[Backward]) -> dict[str, Backward]:
    return {item.id: item for item in items}


def reading(found: Explanation, name: str) -> Reading:
    return next(one for one in found.readings if one.name == name)


# Tokens per step at acceptance 0.61 and k = 2: 1 + 2 x 0.61 = 2.22 accepted by drafted, 1 + 0.61 + 0.61^2 = 1.9821 by
# position, 3 x 0.61 = 1.83 with the bonus. Verified positions are 39.6 x 3 / length, delivered and drafted 39.6 x (1 +
# 2 / length), proposed and rejected 39.6 x (5 - length) / length.
AT_LOWEST = {
    "verified positions": (53.5, 59.9, 64.9),
    "delivered + drafted": (75.3, 79.6, 82.9),
    "proposed + rejected": (49.6, 60.3, 68.6),
}


@pytest.mark.parametrize("rule", AT_LOWEST)
def test_each_rule_at_acceptance_0_61_under_each_definition(rule: str) -> None:
    found = ends(explained(fork(), MEASURED), rule)
    assert [round(found[definition][0], 1) for definition in DEFINITIONS] == list(AT_LOWEST[rule])


def test_no_rule_of_drafts_gives_130_if_39_6_is_delivered() -> None:
    found = explained(fork(), MEASURED)
    assert found.matches == found.matches_once == ()
    assert {one.state for one in found.readings} == {"misses"}
    assert any("no rule that counts drafts under any of these definitions gives the claim" in w for w in found.words)
    assert "the smallest factor is 129.5 / 39.65 = 3.27" in found.words[0]


def test_verified_positions_are_at_most_118_8_at_any_acceptance() -> None:
    sentences = by_id(explained(fork(), MEASURED).backwards)
    for rule, product in (
        ("verified", "39.6 x 3 = 118.8"),
        ("delivered+drafted", "39.6 x 3 = 118.8"),
        ("drafted", "39.6 x 2 = 79.2"),
    ):
        assert product in sentences[rule].sentence
        assert sentences[rule].is_possible is False
    # 39.6 x 4 = 158.4 with nothing accepted; 129.5 takes a length of 5 x 39.65 / (129.5 + 39.65) = 1.172 at most
    assert "39.6 x 4 = 158.4" in sentences["drafted+rejected"].sentence
    assert "1.04 to 1.17 tokens per step" in sentences["drafted+rejected"].sentence
    assert sentences["drafted+rejected"].is_possible is False


def test_another_width_could_give_it_under_one_definition_only() -> None:
    sentences = by_id(explained(fork(), MEASURED).backwards)
    # by position at 0.61: 39.65 x 9 / (1 - 0.61^9) x 0.39 = 140.8 at k = 8, and 39.65 x 8 / ... = 126 at k = 7
    assert "k = 8 to 23 (acceptance per position)" in sentences["verified/k"].sentence
    assert sentences["verified/k"].is_possible is True
    stated = parse_claim(FORK.read_text().replace("method: mtp", "method: mtp\n  draft_tokens: 3"), "f").case(None)
    assert by_id(explained(stated, MEASURED).backwards)["verified/k"].is_possible is False


def test_if_39_6_was_steps_delivered_is_88_to_107_and_the_answer_changes() -> None:
    found = explained(fork(), MEASURED, as_events=True)
    delivered = ends(found, "delivered")
    # 39.6 x 2.22 = 87.9 and 39.6 x 2.7 = 106.9 accepted by drafted; the others give less
    assert tuple(round(end, 1) for end in delivered["per_drafted"]) == (87.9, 106.9)
    assert tuple(round(end, 1) for end in delivered["per_position"]) == (78.5, 101.9)
    assert tuple(round(end, 1) for end in delivered["with_bonus"]) == (72.5, 101.0)
    assert reading(found, "verified positions").definition is None  # 39.6 x 3, whatever is accepted
    assert "= 1.21" in found.words[0]
    sentences = by_id(found.backwards)
    assert "118.9 tok/s at any acceptance (steps x L)" in sentences["delivered"].sentence
    assert sentences["delivered"].is_possible is False
    assert sentences["delivered+drafted"].is_possible is False
    assert sentences["streams"].is_possible is True


def test_from_50_5_the_smallest_factor_is_2_56_and_each_rule_is_possible_or_not() -> None:
    found = explained(fork(), PLAIN)
    assert "the smallest factor is 129.5 / 50.55 = 2.56" in found.words[0]
    sentences = by_id(found.backwards)
    assert sentences["streams"].is_possible is True
    assert sentences["streams"].sentence == "Streams added up: 3 streams at 43.2 to 50.2 tok/s each, or more at less."
    assert sentences["gpus"].is_possible is False
    assert sentences["total"].is_possible is None
    assert "1.56 to 1.98 times as long as its answer" in sentences["total"].sentence
    # 150.5 / 50.45 = 2.98: with speculation on top, k = 2 gives at most 3 tokens per step
    assert "k of 2 or more" in sentences["speculation"].sentence
    assert sentences["verified"].is_possible is None
    assert "1.17 at k = 2" in sentences["verified"].sentence


@pytest.mark.parametrize(
    ("value", "stated", "measured_at", "possible", "words"),
    [
        ("140", 4, None, True, "4 streams at 35 tok/s each"),  # 3.5 times as much, and rates fall under load
        ("158", 4, None, True, "4 streams at 39.5 tok/s each"),
        ("159", 4, None, True, "4 streams at 39.6 tok/s each"),  # 158.5 / 4 = 39.625 is within 39.55 to 39.65
        ("160", 4, None, False, "4 streams at 40 tok/s each"),
        ("160", 4, 8, None, "4 streams at 40 tok/s each"),  # measured with more in flight than are claimed
        ("140", 1, None, False, "more than one"),
        ("140", 100, None, True, "100 streams at 1.4 tok/s each"),
        ("140", None, None, True, "4 streams at 35 tok/s each, or more at less"),
        ("3500", None, None, True, "89 streams at 39.3 tok/s each, or more at less"),
    ],
)
def test_streams_add_up_to_a_claim_that_each_can_carry(
    value: str, stated: int | None, measured_at: int | None, possible: bool | None, words: str
) -> None:
    streams = "" if stated is None else f", streams: {stated}, basis: aggregate"
    case = parse_claim(f"schema: 1\nid: a\ntitle: a\nreported: {{value: {value}{streams}}}\n", "a").case(None)
    rate = Number("39.6", 39.55, 39.65)
    found = by_id(explained(case, Given(rate, streams=measured_at).with_claim(case)).backwards)["streams"]
    assert found.is_possible is possible
    assert words in found.sentence


def test_without_speculation_there_are_no_drafts_to_count_and_speculation_could_deliver() -> None:
    sentences = by_id(explained(fork(), Given(PLAIN.rate, width=0)).backwards)
    assert sentences["drafts"].is_possible is False
    assert sentences["speculation"].is_possible is True
    narrow = parse_claim(FORK.read_text().replace("method: mtp", "method: mtp\n  draft_tokens: 1"), "f").case(None)
    found = by_id(explained(narrow, Given(PLAIN.rate, width=0)).backwards)["speculation"]
    assert (found.is_possible, found.why) == (False, "the claim states k = 1, at most 2 tokens per step")


def test_a_number_that_meets_a_rule_is_named_and_not_proven() -> None:
    """100 delivered at k = 3 and 0.5 accepted by drafted: 2.5 tokens per step, 400 / 2.5 = 160 verified positions."""
    given = Given(Number("100", 99.5, 100.5), 3, (0.5, 0.5), (AcceptanceDefinition.PER_DRAFTED,))
    found = explained(claim("value: 160"), given)
    assert found.matches == ("verified/decode",)
    assert any(
        w.startswith("160 tok/s matches verified positions") and w.endswith("not proven without a witness.")
        for w in found.words
    )
    assert 0 < (found.chance or 0) < 0.3


def test_an_acceptance_that_spans_much_matches_nothing_even_where_it_reaches() -> None:
    found = explained(claim("value: 55"), MEASURED)
    wide = [one for one in found.readings if one.state == "too wide"]
    assert {one.name for one in wide} == {"verified positions", "proposed + rejected"}
    assert found.matches == ()
    assert any(words.startswith("Within reach, but wider than 3 %") for words in found.words)


def test_an_undercount_is_said_too() -> None:
    given = Given(Number("121.2", 121.15, 121.25), 3, (0.47, 0.48), (AcceptanceDefinition.PER_DRAFTED,))
    found = explained(claim("value: 50.0"), given)
    assert "More was delivered than is claimed." in found.words
    assert "events/decode" in found.matches
    assert by_id(found.backwards)["events"].is_possible is True


def test_streams_gpus_and_prompts_are_tried_as_given_or_as_the_claim_states() -> None:
    given = Given(Number("10.0", 9.95, 10.05), streams=4, gpus=2, prompt_tokens=300, output_tokens=100)
    for number, rule in (
        ("40.0", "decode-x-streams"),
        ("20.0", "decode-x-gpus"),
        ("5.0", "decode/gpu"),
        ("40.0", "total/request"),
    ):
        assert rule in explained(claim(f"value: {number}"), given).matches
    stated = claim("value: 40, streams: 4")
    taken = Given(given.rate).with_claim(stated)
    assert taken.streams == 4
    assert "as the claim states, 4 streams" in explained(stated, taken).given


def test_rules_that_agree_are_named_together_with_the_cheapest_way_to_part_them() -> None:
    given = Given(Number("10.0", 9.95, 10.05), streams=4, prompt_tokens=300, output_tokens=100)
    alias = explained(claim("value: 40.0"), given).aliases[0]
    assert set(alias.rules) == {"decode-x-streams", "total/request"}
    assert alias.discriminator is not None
    # at half the answer a prompt of 300 weighs twice: 10 x (300 + 50) / 50 = 70, four streams stay 40
    assert alias.discriminator.change == "answers half as long"
    assert {one.rule: round(one.value) for one in alias.discriminator.predictions} == {
        "decode-x-streams": 40,
        "total/request": 70,
    }


def test_events_need_a_width_and_an_acceptance_that_can_be() -> None:
    with pytest.raises(UsageError, match="draft width"):
        from_numbers(fork(), PLAIN, 0.03, as_events=True)
    # with the bonus, 0.2 at k = 2 would be 0.6 tokens a step
    impossible = Given(MEASURED.rate, 2, (0.1, 0.2), (AcceptanceDefinition.WITH_BONUS,))
    assert not impossible.knows_steps
    with pytest.raises(UsageError):
        from_numbers(fork(), impossible, 0.03, as_events=True)


def test_a_claim_without_a_number_is_not_explained() -> None:
    assert from_numbers(claim("outcome: nan"), PLAIN, 0.03) is None


@pytest.mark.parametrize("word", ["lie", "lied", "fraud", "fake", "cheat", "dishonest", "wrong", "false"])
def test_the_words_accuse_nobody(word: str) -> None:
    for found in (explained(fork(), MEASURED), explained(fork(), MEASURED, as_events=True), explained(fork(), PLAIN)):
        text = " ".join([*found.words, found.caution, *(one.sentence + one.why for one in found.backwards)])
        assert word not in text.lower().split()
