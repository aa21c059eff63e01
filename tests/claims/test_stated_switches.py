"""Switches that force or relax acceptance, found in the launch that a claim states."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from auditor.cli.root import root
from auditor.core.claim.claim import Case, parse_claim
from auditor.core.judging.switches import ACCEPTANCE, stated_switches, switches_finding
from auditor.core.observed import FACT_NAMES
from auditor.reference.traps import bundled_traps
from auditor.terms import Outcome


def text_of(engine: str) -> str:
    return (
        "schema: 1\nid: forced\ntitle: 300 tok/s\nreported: {value: 300, basis: decode, streams: 1}\n"
        f"engine: {{name: any, {engine}}}\n"
    )


def case_of(engine: str) -> Case:
    return parse_claim(text_of(engine), "claim.yaml").case(None)


@pytest.mark.parametrize(
    ("engine", "place", "title"),
    [
        ('argv: [vllm, serve, --speculative-config, \'{"rejection_sample_method": "synthetic"}\']', "argv", "forced"),
        ("argv: [vllm, serve, --speculative-config.rejection_sample_method, synthetic]", "argv", "forced"),
        ("argv: [llama-server, --spec-synth-rates, '0.9,0.8']", "argv", "forced"),
        ("env: {LLAMA_ARG_SPEC_SYNTH_LEN: '3'}", "env.LLAMA_ARG_SPEC_SYNTH_LEN", "forced"),
        ("env: {SGLANG_SIMULATE_ACC_LEN: '3.39'}", "env.SGLANG_SIMULATE_ACC_LEN", "forced"),
        ("env: {TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS: '3'}", "env.TLLM_SPEC", "forced"),
        ("argv: [sglang, --speculative-accept-threshold-single, '0.5']", "argv", "would not have written"),
        ("argv: [sglang, --speculative-accept-threshold-acc=0.5]", "argv", "would not have written"),
        ("argv: [quickstart_advanced.py, --use_relaxed_acceptance_for_thinking]", "argv", "would not have written"),
        ("env: {VLLM_SPEC_ACCEPT_THRESHOLD_SINGLE: '0.3'}", "env.VLLM_SPEC", "does not list"),
    ],
)
def test_a_switch_that_the_claim_states_is_found_where_it_stands(engine: str, place: str, title: str) -> None:
    (words,) = stated_switches(case_of(engine))
    assert f"(engine.{place}" in words
    assert title in words
    found = switches_finding(case_of(engine))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")


@pytest.mark.parametrize(
    ("engine", "outcome"),
    [
        ("argv: [sglang, --speculative-accept-threshold-single, '1.0']", Outcome.HOLDS),
        ("env: {SGLANG_SIMULATE_ACC_LEN: '-1', VLLM_USE_V1: '1'}", Outcome.HOLDS),
        ("argv: [llama-server, --spec-type, draft-simple, --spec-draft-p-min, '0.5']", Outcome.HOLDS),
        ("version: '1'", Outcome.NOT_APPLICABLE),
    ],
)
def test_an_honest_launch_shows_none(engine: str, outcome: Outcome) -> None:
    assert stated_switches(case_of(engine)) == ()
    assert switches_finding(case_of(engine)).outcome is outcome


def test_the_rules_are_in_the_table() -> None:
    assert set(ACCEPTANCE) <= {rule.id for rule in bundled_traps(FACT_NAMES).rules}


def test_show_validate_and_explain_warn_of_it(tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(text_of("env: {SGLANG_SIMULATE_ACC_LEN: '3.39'}"))
    words = "the claim states SGLANG_SIMULATE_ACC_LEN=3.39 (engine.env.SGLANG_SIMULATE_ACC_LEN)"
    shown = CliRunner().invoke(root, ["claims", "show", str(file)])
    assert "Warning: the claim states" in shown.output
    for command in (["claims", "validate", str(file)], ["explain", str(file), "--delivered", "100"]):
        done = CliRunner().invoke(root, [*command, "--json"])
        assert done.exit_code == 0
        assert f"audit: {words}" in done.stderr.replace(f"{file}: ", "")
        document = json.loads(done.stdout)
        warnings = document["warnings"] if "warnings" in document else document["files"][0]["warnings"]
        assert warnings[0].startswith(words)
