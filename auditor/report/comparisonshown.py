"""How sides, pairs and differences are put into a line; shared by the page and the texts."""

from auditor.core.comparing.effect import ALPHA
from auditor.core.comparing.record import Difference, Pair
from auditor.core.comparing.side import SideSummary
from auditor.core.stats import Estimate
from auditor.core.wording import plural
from auditor.report.rates import NO_INTERVAL
from auditor.report.shown import figure, one_line


def side_words(side: SideSummary) -> str:
    """`run 2026..., server plain: llamacpp b7213, SmolLM2-135M, speculation off`."""
    engine = side.kind if side.version is None else f"{side.kind} {side.version}"
    flags = f" ({', '.join(side.flags)})" if side.flags else ""
    words = f"run {side.run}{flags}, server {side.server}: {engine}, {side.model}, speculation {side.speculation}"
    return one_line(words, 400)


def pair_title(pair: Pair) -> str:
    """The load and how both were measured."""
    how = "in turns" if pair.is_interleaved else "one after the other"
    counts = f"{plural(pair.repeats, 'repeat')}, {plural(pair.requests, 'request')} on each"
    return f"{pair.load}: {pair.one} and {pair.other} {how}, {counts}"


def difference_row(found: Difference) -> tuple[str, ...]:
    """Label, both values, ratio, interval and what was shown."""
    return (
        found.label,
        f"{figure(found.one.value)} {found.unit}",
        f"{figure(found.other.value)} {found.unit}",
        figure(found.ratio.value, (1,), 3),
        _interval(found.ratio),
        found.outcome,
    )


def held_words(found: Difference) -> str:
    """Why nothing is shown though the interval leaves out 1; empty where that is not so."""
    if found.outcome != "none shown" or found.p is None or found.p > ALPHA or found.adjusted is None:
        return ""
    if found.adjusted > ALPHA:
        return f"p = {figure(found.adjusted, (ALPHA,), 2)} by Holm"
    return "within what repeats went apart"


def _interval(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return NO_INTERVAL
    return f"{figure(ratio.low, (1,), 3)} to {figure(ratio.high, (1,), 3)}"


def prompt_words(pair: Pair) -> str:
    """The prompts on which the ratio was least and most."""
    ordered = sorted(pair.by_prompt, key=lambda name: pair.by_prompt[name].value)
    least, most = ordered[0], ordered[-1]
    ends = [f"{figure(pair.by_prompt[name].value, (1,), 3)} ({one_line(name, 60)})" for name in (least, most)]
    return f"Decode rate of {pair.other} by that of {pair.one} for each prompt: from {ends[0]} to {ends[1]}."
