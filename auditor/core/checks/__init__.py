"""The small checks that a verdict rests on: one question each, with a sentence and a remedy."""

from auditor.core.checks import (
    acceptance,
    bounds,
    canary,
    client,
    conduct,
    counting,
    output,
    parted,
    serverlog,
    text,
    timing,
)
from auditor.core.checks.base import Check, Context
from auditor.core.judging.verdict import Finding

__all__ = ["CHECKS", "Check", "Context", "run_checks"]

CHECKS: tuple[Check, ...] = (
    Check("real-server", "thin", conduct.real_server),
    Check("run-finished", "thin", conduct.finished),
    Check("answers-complete", "dirty", conduct.answers_complete),
    Check("no-other-traffic", "dirty", conduct.alone),
    Check("in-flight", "dirty", timing.in_flight),
    Check("full-load", "thin", timing.full_load),
    Check("client-kept-up", "dirty", client.kept_up),
    Check("times-ordered", "dirty", timing.times_ordered),
    Check("reconciled", "dirty", counting.reconciled),
    Check("counters-agree", "dirty", counting.counters_agree),
    Check("tokens-counted", "thin", counting.counted),
    Check("counts-agree", "thin", counting.counts_agree),
    Check("recount", "unconfirmed", counting.recount),
    Check("visible-text", "note", counting.visible_text),
    Check("valid-output", "invalid", output.valid_output),
    Check("canaries", "invalid", canary.canaries_answered),
    Check("fingerprint", "invalid", canary.fingerprint),
    Check("honest-acceptance", "invalid", acceptance.honest_acceptance),
    Check("greedy-text", "invalid", text.greedy_text),
    Check("no-loops", "note", output.no_loops),
    Check("whole-answers", "note", output.whole_answers),
    Check("full-length", "note", output.full_length),
    Check("sustained", "thin", timing.sustained),
    Check("interval", "thin", timing.interval),
    Check("below-bound", "dirty", bounds.below_bound),
    Check("server-log", "note", serverlog.log_agrees),
    Check("server-log-facts", "note", serverlog.log_facts),
    Check("rules-parted", "note", parted.rules_parted),
    Check("own-times", "note", timing.own_times),
    Check("clean-streams", "note", timing.clean_streams),
    Check("cache-unused", "note", conduct.cache_unused),
    Check("fresh-prompts", "note", conduct.fresh_prompts),
    Check("fields-accepted", "note", conduct.fields_accepted),
)
"""All checks, in the order of a report."""


def run_checks(context: Context) -> tuple[Finding, ...]:
    """Ask every check."""
    return tuple(check.run(context) for check in CHECKS)
