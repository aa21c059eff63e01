"""Every rule shows on what shows it, sign by sign, and on nothing else."""

import pytest
from trapcases import SHOWS, SHOWS_NOT, Case

from auditor.core.judging.traps import Known, TrapFinding, TrapReader, capability_of, find_traps
from auditor.core.observed import FACT_NAMES
from auditor.reference.traps import Rule, Sign, bundled_traps

TRAPS = bundled_traps(FACT_NAMES)
RULES = {rule.id: rule for rule in TRAPS.rules}


def found(rules: tuple[Rule, ...], case: Case) -> dict[str, TrapFinding]:
    reader = TrapReader(rules)
    for number, line in enumerate(case.log.encode().splitlines(keepends=True), 1):
        reader.add(number, line)
    return {finding.rule: finding for finding in find_traps(rules, reader.hits, case.known)}


def with_sign(rule: Rule, sign: Sign) -> Rule:
    return rule.model_copy(update={"signs": (sign,)})


def test_every_rule_has_cases() -> None:
    assert set(SHOWS) == set(SHOWS_NOT) == set(RULES)
    assert all(SHOWS.values())
    assert all(SHOWS_NOT.values())


@pytest.mark.parametrize("name", RULES)
def test_each_sign_shows_on_a_case_of_its_own(name: str) -> None:
    rule = RULES[name]
    for index, sign in enumerate(rule.signs):
        alone = with_sign(rule, sign)
        assert any(found((alone,), case) for case in SHOWS[name]), f"no case shows sign {index + 1}"
    for index, case in enumerate(SHOWS[name]):
        finding = found((rule,), case).get(name)
        assert finding is not None, f"case {index + 1} does not show it"
        assert not finding.open
        assert all(evidence.text for evidence in finding.evidence)


@pytest.mark.parametrize("name", RULES)
def test_what_does_not_show_it_is_not_found(name: str) -> None:
    for index, case in enumerate(SHOWS_NOT[name]):
        assert name not in found((RULES[name],), case), f"case {index + 1} shows it"


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.capability or rule.engines])
def test_a_rule_for_others_says_nothing_and_one_for_the_unknown_says_what_is_open(name: str) -> None:
    rule, case = RULES[name], SHOWS[name][0]
    reader = TrapReader([rule])
    for number, line in enumerate(case.log.encode().splitlines(), 1):
        reader.add(number, line)
    if rule.engines:
        other = Known(case.known.facts, frozenset({"lmdeploy"}), case.release, case.capability)
        assert find_traps([rule], reader.hits, other) == ()
    if rule.capability:
        other = Known(case.known.facts, case.engines, case.release, "9.0")
        assert find_traps([rule], reader.hits, other) == ()
    (finding,) = find_traps([rule], reader.hits, Known(case.known.facts))
    assert len(finding.open) == bool(rule.engines) + bool(rule.capability) + bool(rule.since or rule.before)


def test_sources_are_addresses_or_name_a_project() -> None:
    for rule in TRAPS.rules:
        assert all(source.startswith("https://") or " " in source for source in rule.sources), rule.id
        assert rule.consequence.endswith(".")
        assert rule.remedy.endswith(".")


def test_a_hit_keeps_the_first_line_the_count_and_each_text_once() -> None:
    lines = ["x", *(f"Unknown vLLM environment variable detected: VLLM_{name}" for name in "ABAC")]
    finding = found((RULES["unlisted-variable"],), Case("\n".join(lines)))["unlisted-variable"]
    (evidence,) = finding.evidence
    assert (evidence.line, evidence.times) == (2, 4)
    assert evidence.text.endswith("VLLM_A")
    assert [other[-1] for other in evidence.others] == ["B", "C"]


def test_many_texts_of_one_pattern_are_bounded() -> None:
    lines = [f"Unknown vLLM environment variable detected: VLLM_{number}" for number in range(500)]
    finding = found((RULES["unlisted-variable"],), Case("\n".join(lines)))["unlisted-variable"]
    assert (finding.evidence[0].times, len(finding.evidence[0].others)) == (500, 20)


def test_no_more_of_a_line_is_shown_than_what_matched() -> None:
    line = "non-default args: {'api_key': ['sk-secret'], 'trust_remote_code': True, 'max_model_len': 8192}"
    findings = found(TRAPS.rules, Case(line))
    assert {"trust-remote-code", "reduced-context"} <= set(findings)
    assert "secret" not in repr(findings)


@pytest.mark.parametrize(
    ("words", "capability"),
    [
        ("12.0", "12.0"),
        ("sm_120", "12.0"),
        ("sm121a", "12.1"),
        ("SM90", "9.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("RTX PRO 6000", "12.0"),
        ("NVIDIA H200", "9.0"),
        ("NVIDIA RTX, compute capability 12.0", "12.0"),
        ("a toaster", None),
    ],
)
def test_the_capability_of_a_gpu(words: str, capability: str | None) -> None:
    assert capability_of(words) == capability


def test_the_capability_that_a_log_names_and_none_where_it_names_two() -> None:
    reader = TrapReader(())
    reader.add(1, b"SymmMemCommunicator: Device capability 12.0 not supported")
    assert reader.capability == "12.0"
    reader.add(2, b"  Device 1: NVIDIA X, compute capability 8.9, VMM: yes")
    assert reader.capability is None


def test_the_gravest_comes_first_and_what_is_open_last() -> None:
    case = Case("'trust_remote_code': True\nAllReduce fusion pass is disabled\nrejection_sample_method='synthetic'")
    reader = TrapReader(TRAPS.rules)
    for number, line in enumerate(case.log.encode().splitlines(), 1):
        reader.add(number, line)
    order = [finding.rule for finding in find_traps(TRAPS.rules, reader.hits, Known())]
    assert order == ["forced-acceptance", "trust-remote-code", "allreduce-fusion-off"]
