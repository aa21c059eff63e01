"""Whether lines agree with each other: generation = length x drafted / k = length / (length - 1) x accepted.

Delivered tokens of an interval are F + P + S + A - O: first tokens of prefill, steps without a draft, verify steps,
accepted tokens, less those cut at the end of an answer. The speculation line gives S + A and the span of time. So a
generation above the identity is F and P, always possible; one below it is O, at most k for each answer that ended.
After a pause the speculation line divides by more time than the throughput line, and understates both its throughputs.
"""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from auditor.core.enginelogs.printed import Span, span, sure
from auditor.core.enginelogs.records import Interval, Scope
from auditor.core.enginelogs.speculation import Speculation, speculation_of
from auditor.core.record import Record

Fencepost = Literal["n", "n-1", "either", "neither"]
State = Literal["agrees", "more", "fewer", "stretched", "fraction", "contradicts"]
"""`stretched`: the speculation line covers more time; `fraction`: less than one token apart."""
SHOWN = 200
"""Lines that are listed."""
_FIRST: tuple[State, ...] = ("contradicts", "fewer", "stretched", "more", "fraction")
"""Which lines are listed before others where there are too many."""
_HELD = 1_000
"""Disagreeing lines that wait for the end of the log, where the usual interval is known."""
_STRETCH = Fraction(6, 5)
"""How much longer than usual a window must be to be called stretched."""
_CLOCKS_APART = Decimal("0.01")
"""Seconds between the two lines of one round of logging that are still believed."""
RULE = "generation = length x drafted / k = length / (length - 1) x accepted"


class LineCheck(Record):
    """One line that does not agree."""

    line: int
    source: str = ""
    state: State
    sentence: str


class Identity(Record):
    """What the check of all lines gave."""

    rule: str = RULE
    checked: int = 0
    states: dict[State, int] = {}
    """Lines by state."""
    unchecked: dict[str, int] = {}
    """Lines that could not be checked, by reason."""
    shown: tuple[LineCheck, ...] = ()
    """Lines that do not agree, at most 200; contradictions go before what has a plain reason."""
    usual_window_s: str | None = None
    """Seconds of the intervals that agree."""


@dataclass(frozen=True, slots=True)
class _Held:
    interval: Interval
    counts: Speculation
    window: Span


class IdentityTally:
    """Checks intervals one by one; keeps a bounded number of them."""

    def __init__(self) -> None:
        self._states: Counter[State] = Counter()
        self._unchecked: Counter[str] = Counter()
        self._held: list[_Held] = []
        self._windows: dict[int, tuple[int, Span]] = {}
        """Spans of agreeing lines, by tenths of a second: how many, and the least and greatest."""
        self._shown: list[LineCheck] = []

    def add(self, interval: Interval) -> None:
        """Check one interval; those without drafts are passed over."""
        if interval.scope is not Scope.WINDOW or interval.drafted is None:
            return
        counts = speculation_of(interval)
        if isinstance(counts, str):
            self._note(interval, "contradicts", f"the line contradicts itself: {counts}")
            return
        if counts is None:
            self._unchecked["its counts run from the start of the server"] += 1
        elif interval.delivered_rate is None:
            self._unchecked["no throughput line before it"] += 1
        elif counts.window is None:
            self._unchecked["it prints no throughputs, so its span of time is unknown"] += 1
        else:
            self._compare(_Held(interval, counts, counts.window))

    def finish(self) -> Identity:
        """The result, with those that wait explained by the usual interval."""
        usual = self._usual()
        for held in self._held:
            state, sentence = _explained(held, usual)
            self._note(held.interval, state, sentence)
        self._held.clear()
        shown = sorted(self._shown, key=lambda check: (_FIRST.index(check.state), check.line))[:SHOWN]
        return Identity(
            checked=self._states.total(),
            states=dict(sorted(self._states.items())),
            unchecked=dict(self._unchecked),
            shown=tuple(sorted(shown, key=lambda check: check.line)),
            usual_window_s=usual.text(1) if usual else None,
        )

    def _compare(self, held: _Held) -> None:
        apart = _apart(held, held.window)
        if apart.low <= 0 <= apart.high:
            self._states["agrees"] += 1
            tenth = round(held.window.low * 10)
            if tenth in self._windows or len(self._windows) < 10_000:
                count, seen = self._windows.get(tenth, (0, held.window))
                self._windows[tenth] = (count + 1, seen.join(held.window))
        elif len(self._held) < _HELD:
            self._held.append(held)
        else:
            self._states["more" if apart.low > 0 else "fewer"] += 1

    def _usual(self) -> Span | None:
        """The span of time that most agreeing lines have, give or take a tenth part."""
        if not self._windows:
            return None
        most, (_, usual) = max(self._windows.items(), key=lambda item: item[1][0])
        for tenth, (_, seen) in self._windows.items():
            if abs(tenth - most) * 10 <= max(most, 10):
                usual = usual.join(seen)
        return usual

    def _note(self, interval: Interval, state: State, sentence: str) -> None:
        self._states[state] += 1
        if state != "agrees" and len(self._shown) < _HELD:
            self._shown.append(
                LineCheck(line=interval.lines[-1], source=interval.source, state=state, sentence=sentence)
            )


def _apart(held: _Held, window: Span) -> Span:
    """Generated tokens less the tokens of the verify steps, over a span of time."""
    rate = held.interval.delivered_rate
    assert rate is not None
    tokens = held.counts.tokens
    return Span(max(Fraction(0), rate.low) * window.low - tokens.high, rate.high * window.high - tokens.low)


def _expected(held: _Held) -> str:
    tokens, window = held.counts.tokens, held.window
    return Span(tokens.low / window.high, tokens.high / window.low).text(1)


def _explained(held: _Held, usual: Span | None) -> tuple[State, str]:
    head = f"{held.interval.delivered_rate} printed, {_expected(held)} by the speculation line"
    if usual is not None and held.window.low > usual.high * _STRETCH:
        factor = sure(Span(held.window.low / usual.high, held.window.high / usual.low), 1)
        rest = _apart(held, usual)
        made = "agrees" if rest.low <= 0 <= rest.high else _difference(rest, held)[1]
        return "stretched", (
            f"{head}, which covers {held.window.text(1)} s where an interval is {usual.text(1)} s: a pause without"
            f" drafts, and both its throughputs are too low by {factor}; by its counts over the interval: {made}"
        )
    state, words = _difference(_apart(held, held.window), held)
    return state, f"{head}: {words}"


def _difference(apart: Span, held: _Held) -> tuple[State, str]:
    """The difference in tokens, and what can make it."""
    is_more = apart.low > 0
    least, most = (apart.low, apart.high) if is_more else (-apart.high, -apart.low)
    word = "more" if is_more else "fewer"
    if most < 1:
        return "fraction", f"less than a token {word}: the two clocks of the lines"
    low, high = max(1, ceil(least)), max(1, floor(most))
    if low > high:  # between two whole numbers: a token or more, and the two clocks
        low = high = max(1, round((least + most) / 2))
    words = f"{_count(low, high)} {word}: "
    if is_more:
        return "more", f"{words}first tokens of prefill, or steps without a draft{_clocks(low, held)}"
    width = held.counts.width
    need = f", at most {width} for each, so at least {-(-low // width)} ended here" if width else ""
    return "fewer", f"{words}accepted tokens cut at the end of answers{need}{_clocks(low, held)}"


def _clocks(tokens: int, held: _Held) -> str:
    """How far the two clocks would have to be apart to make the difference, if that is little."""
    rate = held.interval.delivered_rate
    if rate is None or rate.value <= 0 or tokens / rate.value > _CLOCKS_APART:
        return ""
    return f"; or {float(tokens / rate.value * 1000):.1f} ms between the two clocks of the lines"


def _count(low: int, high: int) -> str:
    if low == high:
        return f"{low} token{'' if low == 1 else 's'}"
    return f"{low} to {high} tokens"


def fencepost(interval: Interval) -> Fencepost | None:
    """Whether a request's rate divides all its tokens (`n`) or all but the first (`n-1`) by its time.

    `either` where rounding allows both, `neither` where none gives the printed rate, None without the figures.
    """
    tokens, seconds, rate = interval.delivered, interval.seconds, interval.delivered_rate
    if interval.scope is not Scope.REQUEST or tokens is None or seconds is None or rate is None or seconds.low <= 0:
        return None
    fits: list[Fencepost] = []
    posts: tuple[tuple[Fencepost, int], ...] = (("n", tokens), ("n-1", tokens - 1))
    for name, number in posts:
        made = Span(Fraction(number) / seconds.high, Fraction(number) / seconds.low)
        if not made.meet(span(rate)).is_empty:
            fits.append(name)
    return fits[0] if len(fits) == 1 else "either" if fits else "neither"
