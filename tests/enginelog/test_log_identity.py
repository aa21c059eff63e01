"""Lines of real logs agree with each other, and those that do not are shown with what can make the difference."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.enginelogs import Artefact, Interval, LogReader, LogReading
from auditor.core.enginelogs.identity import LineCheck, fencepost
from auditor.core.enginelogs.printed import Span, printed, sure
from auditor.core.enginelogs.speculation import Speculation, speculation_of

DATA = Path(__file__).parent / "data"
ARTEFACT = Artefact(name="log", sha256="0" * 64, size=0)


def read(data: bytes, release: str | None = None) -> tuple[LogReading, tuple[Interval, ...]]:
    reader = LogReader(release=release)
    for line in data.splitlines(keepends=True):
        reader.add(line)
    found = reader.finish(ARTEFACT)
    assert found is not None
    return found


def of_file(name: str) -> tuple[LogReading, tuple[Interval, ...]]:
    return read((DATA / name).read_bytes())


def test_the_lines_of_a_real_log_on_sm120_agree_or_are_shown() -> None:
    reading, intervals = of_file("vllm-0.20-sm120-mtp3.log")
    identity = reading.identity
    assert identity is not None
    assert identity.checked == 14 == sum(interval.drafted is not None for interval in intervals)
    assert identity.states == {"agrees": 8, "fewer": 2, "more": 2, "stretched": 2}
    assert not identity.unchecked
    assert identity.usual_window_s == "10.0"
    shown = {check.line: (check.state, check.sentence) for check in identity.shown}
    assert {line: state for line, (state, _) in shown.items()} == {
        33: "stretched", 44: "fewer", 52: "more", 62: "more", 74: "stretched", 81: "fewer",
    }  # fmt: skip
    # 23 steps and 42 accepted are 65 tokens; 6.5 x 10 s. The line's own clock ran since the start.
    assert "25.1 to 25.2 s where an interval is 10.0 s" in shown[33][1]
    assert "too low by 2.5; by its counts over the interval: agrees" in shown[33][1]
    # 366 steps and 542 accepted are 908 tokens; 906 were delivered.
    assert shown[44][1].startswith("90.6 printed, 90.8 by the speculation line: 2 tokens fewer")
    assert "at most 3 for each, so at least 1 ended here" in shown[44][1]
    assert "20.0 s where an interval is 10.0 s" in shown[74][1]


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("vllm-0.24-h200-draft.log", {"agrees": 1}),
        ("vllm-0.32-cpu-draft.log", {"agrees": 28, "fewer": 3, "fraction": 1, "more": 3, "stretched": 4}),
        ("vllm-0.32-cpu-ngram.log", {"agrees": 2, "fewer": 1, "more": 21, "stretched": 5}),
    ],
)
def test_other_real_logs(name: str, states: dict[str, int]) -> None:
    identity = of_file(name)[0].identity
    assert identity is not None
    assert identity.states == states
    assert len(identity.shown) == identity.checked - states["agrees"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"Drafted throughput: 109.80", b"Drafted throughput: 130.20", "are not of one span of time"),
        (b"Accepted throughput: 54.20", b"Accepted throughput: 94.20", "are not of one span of time"),
        (b"Mean acceptance length: 2.48", b"Mean acceptance length: 2.73", "no number of steps gives length 2.73"),
        (b"acceptance rate: 49.4%", b"acceptance rate: 61.0%", "542 of 1098 is not an acceptance of 0.610"),
        (b"Accepted: 542 tokens", b"Accepted: 1542 tokens", "1542 accepted of 1098 drafted"),
        (b"0.746, 0.500, 0.235", b"0.746, 0.235, 0.500", "a later position accepts more"),
        (b"0.746, 0.500, 0.235", b"0.946, 0.500, 0.235", "no number of steps gives"),
    ],
)
def test_a_changed_figure_contradicts_the_rest_of_its_line(old: bytes, new: bytes, why: str) -> None:
    data = (DATA / "vllm-0.20-sm120-mtp3.log").read_bytes()
    assert data.count(old) == 1
    identity = read(data.replace(old, new))[0].identity
    assert identity is not None
    assert identity.states["contradicts"] == 1
    (check,) = (check for check in identity.shown if check.state == "contradicts")
    assert check.line == 44
    assert why in check.sentence


def shown_at(line: int, data: bytes) -> LineCheck:
    identity = read(data)[0].identity
    assert identity is not None
    return next(check for check in identity.shown if check.line == line)


def test_a_changed_generation_shows_how_many_answers_it_would_take() -> None:
    data = (DATA / "vllm-0.20-sm120-mtp3.log").read_bytes()
    low = data.replace(b"generation throughput: 99.8", b"generation throughput: 50.5")
    check = shown_at(40, low)
    assert check.state == "fewer"
    assert "493 tokens fewer: accepted tokens cut at the end of answers, at most 3 for each" in check.sentence
    assert "at least 165 ended here" in check.sentence
    high = data.replace(b"generation throughput: 99.8", b"generation throughput: 130.0")
    check = shown_at(40, high)
    assert (check.state, "302 tokens more" in check.sentence) == ("more", True)


def lines(generation: float, accepted: list[int], drafted: list[int], width: int, seconds: float) -> bytes:
    """One round of vLLM's logging, as its code prints it."""
    steps, positions = len(accepted), [sum(a > i for a in accepted) for i in range(width)]
    total, proposed = sum(accepted), sum(drafted)
    return (
        "INFO 01-01 00:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput:"
        f" {generation:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%\n"
        f"INFO 01-01 00:00:10 [metrics.py:1] SpecDecoding metrics: Mean acceptance length: {1 + total / steps:.2f}, Accepted"
        f" throughput: {total / seconds:.2f} tokens/s, Drafted throughput: {proposed / seconds:.2f} tokens/s, Accepted:"
        f" {total} tokens, Drafted: {proposed} tokens, Per-position acceptance rate:"
        f" {', '.join(f'{p / steps:.3f}' for p in positions)}, Avg Draft acceptance rate: {total / proposed * 100:.1f}%"
    ).encode()


@given(st.data())
def test_whatever_an_engine_counts_its_line_agrees(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 8))
    drafted = data.draw(st.lists(st.integers(1, width), min_size=1, max_size=400))
    accepted = [data.draw(st.integers(0, d)) for d in drafted[:40]]
    accepted += [min(a, d) for a, d in zip((accepted * len(drafted))[: len(drafted) - 40], drafted[40:], strict=False)]
    seconds = data.draw(st.floats(0.5, 60.0))
    tokens = len(accepted) + sum(accepted)
    reading, intervals = read(lines(tokens / seconds, accepted, drafted, width, seconds))
    counts = speculation_of(intervals[0])
    assert isinstance(counts, Speculation)
    assert counts.steps_low <= len(accepted) <= counts.steps_high
    assert counts.window is not None
    assert counts.window.low <= Fraction(seconds) <= counts.window.high
    assert reading.identity is not None
    assert reading.identity.states == {"agrees": 1}
    acceptance = reading.acceptance
    assert acceptance is not None
    assert (acceptance.accepted, acceptance.drafted) == (sum(accepted), sum(drafted))


@given(st.lists(st.integers(0, 3), min_size=20, max_size=200), st.integers(1, 500), st.booleans())
def test_what_is_added_or_cut_is_said_in_tokens(accepted: list[int], extra: int, is_more: bool) -> None:
    tokens = len(accepted) + sum(accepted)
    extra = extra if is_more else min(extra, tokens - 1)
    seconds = 10.0
    number = (tokens + extra) if is_more else (tokens - extra)
    identity = read(lines(number / seconds, accepted, [3] * len(accepted), 3, seconds))[0].identity
    assert identity is not None
    if not sum(accepted):  # every number of steps from D / k to D is possible, so some of it is hidden
        assert "contradicts" not in identity.states
        return
    assert identity.states == {"more" if is_more else "fewer": 1}
    assert f" {extra} token{'s' if extra > 1 else ''} {'more' if is_more else 'fewer'}" in identity.shown[0].sentence


@pytest.mark.parametrize(
    ("tokens", "ms", "rate", "post"),
    [
        (200, "9840.04", "20.33", "n"),  # ggml-org/llama.cpp#12603, March 2025
        (96, "5729.20", "16.58", "n-1"),  # noonghunna/club-3090#1124, 2026
        (400, "12697.59", "31.42", "n-1"),  # this project, xllamacpp 2026.10
        (50000, "600000.00", "83.33", "either"),
        (96, "5729.20", "19.00", "neither"),
    ],
)
def test_a_request_shows_which_tokens_its_rate_divides(tokens: int, ms: str, rate: str, post: str) -> None:
    line = f"slot print_timing: id 0 | task 1 |        eval time = {ms} ms / {tokens} tokens ( 1.00 ms per token, {rate} tokens per second)"
    reading, (interval,) = read(line.encode())
    assert fencepost(interval) == post
    assert reading.requests is not None
    assert reading.requests.fenceposts == {post: 1}
    assert reading.requests.contradictions == (post == "neither")
    assert reading.requests.largest_gain == {"n": "0.5", "either": "0.0"}.get(post)


def test_requests_of_a_real_llamacpp_add_up() -> None:
    checks = of_file("llamacpp-draft.log")[0].requests
    assert checks is not None
    assert checks.fenceposts == {"n-1": 4}
    assert checks.balances == {"exact": 4}
    ngram = of_file("llamacpp-ngram.log")[0].requests
    assert ngram is not None
    assert ngram.balances == {"exact": 2, "more": 1}
    assert ngram.contradictions == 0


def decode_lines(rate: float, seconds: int, running: int = 1, length: float | None = None, passes: int = 40) -> bytes:
    """SGLang's decode lines, printed every so many passes, as many as fit."""
    tokens = passes * running * (length or 1.0)
    times = [i * tokens / rate for i in range(int(seconds * rate / tokens) + 1)]
    accept = "" if length is None else f"accept len: {length:.2f}, accept rate: 0.50, "
    return "\n".join(
        f"[2026-01-01 00:{int(t) // 60:02d}:{int(t) % 60:02d} TP0] Decode batch, #running-req: {running}, #token: 1, token"
        f" usage: 0.00, {accept}cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: 0"
        for t in times
    ).encode()


@pytest.mark.parametrize(("running", "length"), [(1, None), (1, 2.71), (8, 2.71)])
def test_sglang_lines_agree_with_the_clock(running: int, length: float | None) -> None:
    passes = read(decode_lines(85.9, 120, running, length))[0].passes
    assert passes is not None
    assert (passes.runs, passes.agreeing, passes.expected, passes.is_default) == (1, 1, 40, True)
    assert passes.by_time in ("85.9", "86", "85.90")


def test_sglang_lines_that_do_not_agree_are_shown() -> None:
    start = b"[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/models/q', decode_log_interval=10)\n"
    passes = read(start + decode_lines(85.9, 120))[0].passes
    assert passes is not None
    assert (passes.runs, passes.agreeing, passes.expected, passes.is_default) == (1, 0, 10, False)
    assert not passes.shown[0].agrees
    low, _, high = passes.shown[0].passes.partition(" to ")
    assert float(low) <= 40 <= float(high or low)


def test_sglangs_accept_rate_is_converted_only_with_a_release() -> None:
    start = (
        b"[2026-01-01 00:00:00] server_args=ServerArgs(speculative_algorithm='EAGLE', speculative_num_draft_tokens=4)\n"
    )
    data = start + decode_lines(85.9, 60, 1, 2.71)
    unknown = read(data)[0].acceptance
    assert unknown is not None
    assert (unknown.reported_rate, unknown.reported_definition, unknown.strict_rate) == ("0.50", None, None)
    assert (unknown.rate, unknown.accepted, unknown.length) == (None, None, "2.71")
    for release, words in (
        ("0.5.3.post3", "steps plus one"),
        ("0.5.9", "the draft tokens"),
        ("0.5.17", "accepted over"),
    ):
        known = read(data, release)[0].acceptance
        assert known is not None
        assert words in (known.reported_definition or "")
        assert known.strict_rate == "0.57"
    between = read(data, "0.5.10")[0].acceptance
    assert between is not None
    assert between.strict_rate is None


@given(st.decimals(-1000, 1000, places=3, allow_nan=False))
def test_a_printed_number_stands_for_what_rounds_to_it(number: object) -> None:
    text = f"{number:.3f}"
    found = printed(text)
    assert found is not None
    assert found.high - found.low == Fraction(1, 1000)
    assert f"{float(found.value):.3f}" == text
    for end in (found.low, found.high):
        assert abs(end - Fraction(text)) == Fraction(1, 2000)


@given(st.fractions(0, 10**6), st.fractions(Fraction(1, 10**6), 1000))
def test_no_more_places_are_shown_than_the_bounds_are_sure_of(low: Fraction, width: Fraction) -> None:
    bounds = Span(low, low + width)
    text = sure(bounds, 3)
    places = len(text.partition(".")[2])
    assert places <= 3
    if places:
        assert width <= Fraction(1, 10**places)
    shown = bounds.text(3)
    first, _, last = shown.partition(" to ")
    assert Fraction(first) <= Fraction(last or first)
