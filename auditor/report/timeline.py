"""The timeline of one answer: delivered tokens over time, and a close look at single steps."""

from collections.abc import Iterable, Sequence

from auditor.core.hardware.telemetry import Sample
from auditor.core.wording import plural
from auditor.report.shown import NOT_KNOWN, count, plain, seconds
from auditor.report.telemetry import telemetry_blocks
from auditor.report.tokens import Answer, SeenStep, TokenDigest
from auditor.report.views import Block, Chart, Key, Section, Table, cells, columns

ZOOM_STEPS = 40
"""Steps in the close look."""
LINE_POINTS = 300
"""Most points of the line of delivered tokens."""


def timeline_section(digest: TokenDigest, samples: Sequence[Sample], why: str | None) -> Section:
    """Delivered tokens over time, the GPUs under them, and a close look at single steps.

    `why` says why there are no samples of the GPUs.
    """
    title, answer = "Token by token", digest.answer
    if answer is None or not answer.events:
        return Section("timeline", title, ("Nothing was delivered on the judged load, so there is nothing to show.",))
    line, unit = answer.line, "tokens" if all(event.is_counted for event in answer.events) else "events"
    which = (
        f"The first answer of the judged load: exchange {line.exchange}, prompt {plain(line.prompt, 80)}"
        f" ({plain(line.kind, 40)}), repeat {line.repeat + 1}."
    )
    if line.status != "complete":
        which += f" It is {line.status}: {line.problem or 'it did not come to its end'}."
    total = sum(event.tokens for event in answer.events)
    start = "the request was sent" if answer.from_send else "the first event"
    last = answer.events[-1].at_ns
    begun = "the request being sent" if answer.from_send else "the first event"
    text = f"{plural(total, unit.removesuffix('s'))} delivered within {seconds(last)} of {begun}."
    options = {"unit": unit, "since": start, "domain": [0, last / 1e9]}
    chart = Chart("line", "line", text, tuple(_line(answer)), (), options)
    blocks = [Block(heading=f"Delivered {unit} over time", paragraphs=(text,), chart=chart)]
    blocks.extend(telemetry_blocks(answer, samples, why))
    blocks.extend(_zoom(answer, start))
    return Section("timeline", title, (which,), tuple(blocks))


def _line(answer: Answer) -> list[dict[str, float]]:
    """Delivered so far, at most one point for each of equal stretches of time: their last."""
    first, last = answer.events[0].at_ns, answer.events[-1].at_ns
    width = max(1, -(-(last - first) // LINE_POINTS))
    points: dict[int, dict[str, float]] = {}
    delivered = 0
    for event in answer.events:
        delivered += event.tokens
        points[(event.at_ns - first) // width] = {"t": event.at_ns / 1e9, "n": delivered}
    before = [{"t": 0.0, "n": 0}, {"t": first / 1e9, "n": 0}] if answer.from_send else []
    return [*before, *points.values()]


def _zoom(answer: Answer, start: str) -> Iterable[Block]:
    if len(answer.steps) < 2:
        words = "The server does not show its steps, so accepted and rejected drafts cannot be placed in time."
        yield Block(heading="Single steps", paragraphs=(words,))
        return
    at = _most_rejected(answer.steps)
    chosen = answer.steps[at : at + ZOOM_STEPS]
    before = answer.steps[at - 1].at_ns if at else chosen[0].at_ns
    rows = _zoom_rows(chosen, before)
    rejected = sum(step.rejected or 0 for step in chosen)
    why = "the stretch with the most rejected drafts" if rejected else "the beginning of the answer"
    known = any(step.accepted is not None for step in chosen)
    words = (
        f"Steps {chosen[0].number} to {chosen[-1].number}, {why}. A bar is as wide as the time since the step before "
        "it and as high as the tokens it delivered"
    )
    words += "; below the line, the drafts it rejected." if known else ". Drafts per step are not told by the server."
    used = {row["part"] for row in rows}
    keys = tuple(Key(color, label) for part, (color, label) in _ZOOM_PARTS.items() if part in used)
    tokens = sum(step.tokens for step in chosen)
    text = f"{plural(len(chosen), 'step')}, {plural(tokens, 'token')} delivered, {plural(rejected, 'draft')} rejected."
    heading = f"Single steps, {seconds(chosen[-1].at_ns - before)} of the answer"
    chart = Chart("zoom", "zoom", text, tuple(rows), keys, {"since": start})
    yield Block(heading=heading, paragraphs=(words,), chart=chart)
    yield Block(table=_zoom_table(chosen), summary="The same steps as a table, with their text")


def _most_rejected(steps: Sequence[SeenStep]) -> int:
    """Index of the first stretch of `ZOOM_STEPS` steps with the most rejected drafts."""
    rejected = [step.rejected or 0 for step in steps]
    best = held = sum(rejected[:ZOOM_STEPS])
    at = 0
    for index in range(1, len(steps) - ZOOM_STEPS + 1):
        held += rejected[index + ZOOM_STEPS - 1] - rejected[index - 1]
        if held > best:
            best, at = held, index
    return at


_ZOOM_PARTS = {
    "own": ("bonus", "the target's own token"),
    "accepted": ("delivered", "accepted drafts"),
    "unsplit": ("quiet", "delivered, accepted drafts not told"),
    "rejected": ("rejected", "rejected drafts"),
}


def _zoom_rows(steps: Sequence[SeenStep], before: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    start = before
    for step in steps:
        # A step that came with the one before it in one read still has a width to be seen.
        ends = {"t": start / 1e9, "t2": step.at_ns / 1e9}
        if step.accepted is None:
            parts = [("unsplit", 0, step.tokens)]
        else:
            own = max(0, step.tokens - step.accepted)
            parts = [("own", 0, own), ("accepted", own, step.tokens), ("rejected", 0, -(step.rejected or 0))]
        for part, low, high in parts:
            if low != high:
                rows.append({**ends, "part": part, "color": _ZOOM_PARTS[part][0], "y": low, "y2": high})
        start = step.at_ns
    return rows


def _zoom_table(steps: Sequence[SeenStep]) -> Table:
    rows = []
    for step in steps:
        drafts = [count(number) for number in (step.drafted, step.accepted, step.rejected)]
        text = plain(step.text.replace("\n", "↵"), 60)
        phase = step.phase or NOT_KNOWN
        rows.append(cells(str(step.number), f"{step.at_ns / 1e9:.3f}", phase, count(step.tokens), *drafts, text))
    heads = ("Step", "#After, s", "Phase", "#Delivered", "#Drafted", "#Accepted", "#Rejected", "Text")
    return Table("Single steps", columns(*heads), tuple(rows))
