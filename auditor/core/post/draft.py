"""Writes the draft of a claim file from what a post states, each value with the words it came from.

The draft is a valid claim file. What was not found is left out and stands at the end as questions.
"""

import re
from collections.abc import Iterable, Sequence

import orjson

from auditor.core.claim.claim import parse_claim, problems_of
from auditor.core.claim.questions import questions_for
from auditor.core.claim.text import NOT_YAML, SECRET_VALUE, UNSAFE
from auditor.core.post.fields import Placed, placed
from auditor.core.post.rates import Rate, scan_post
from auditor.core.post.scan import Doubt, Stated

_ORDER = ("source", "hardware", "model", "engine", "speculation", "reported", "workload")
_NUMBERS = (
    "speculation.acceptance",
    "speculation.acceptance_length",
    "speculation.draft_tokens",
    "reported.value",
    "reported.streams",
    "hardware.count",
)
"""Fields whose text is a number as YAML writes it."""
_WIDTH = 100
_TITLE = 120
"""Longest title taken from a post, characters."""


def draft_claim(
    post: str, *, claim_id: str | None = None, answers: Sequence[Stated] = (), title: str | None = None
) -> tuple[str, str]:
    """The id and the text of a draft from a post and from answers, which go before the post.

    Raises ClaimError only for an id that cannot be one.
    """
    post = _clean(post)
    scan = scan_post(post)
    rates = () if any(item.field == "reported.value" for item in answers) else scan.rates
    place = placed(scan, rates, answers)
    title = _title(title or post) or "A claim without a title"
    claim_id = claim_id or _identifier(place.common, rates, title)
    lines = ["schema: 1", f"id: {_text(claim_id)}", f"title: {_text(title)}"]
    body = "\n".join([*lines, *_fields(place.common, rates), *_rows(rates, place)])
    # Read back, so that a draft that cannot be read is never handed out.
    claim = parse_claim(body, "draft")
    asked = dict.fromkeys(question for case in claim.cases() for question in questions_for(case))
    doubts = [_doubt(doubt) for doubt in (*scan.doubts, *place.doubts)]
    questions = "\n".join(f"# - {_comment(question, 400)}" for question in (*doubts, *asked))
    head = "# A draft: check every value against the words it was read from, and delete what does not belong.\n"
    return claim_id, f"{head}{body}\n\n# Still to ask the claimant:\n{questions}\n"


def problem_with(answer: Stated) -> str | None:
    """What is wrong with an answer to one field, in words; None if a claim may hold it."""
    body = "\n".join(["schema: 1", "id: draft", "title: draft", *_fields([answer], ())])
    return next((error.what for error in problems_of(body, "draft")), None)


def _clean(post: str) -> str:
    post = post.replace("**", "").replace("`", "").replace("\r", "\n").replace("\u2028", "\n")
    return SECRET_VALUE.sub("(removed)", UNSAFE.sub(" ", NOT_YAML.sub(" ", post)))


def _title(post: str) -> str:
    first = next((line for line in post.splitlines() if re.search(r"\w", line)), "")
    words = " ".join(first.strip("#*>-| \t").split())
    if len(words) <= _TITLE:
        return words
    return f"{words[: _TITLE - 1].rpartition(' ')[0] or words[: _TITLE - 1]}…"


def _identifier(stated: Iterable[Stated], rates: Sequence[Rate], title: str) -> str:
    model = next((str(item.value) for item in stated if item.field == "model.id"), None)
    words = f"{model} {rates[0].low}tps" if model and rates else title
    name = "-".join(re.findall(r"[a-z0-9]+(?:\.[a-z0-9]+)*", words.lower()))[:64].rstrip(".-")
    return name or "claim"


def _fields(stated: Sequence[Stated], rates: Sequence[Rate]) -> list[str]:
    """Fields as YAML, in the order of the schema, one value each; a lone rate is among them."""
    tree: dict[str, dict[str, list[Stated]]] = {}
    for item in stated:
        part, _, rest = item.field.partition(".")
        tree.setdefault(part, {}).setdefault(rest, []).append(item)
    lines: list[str] = []
    for part in _ORDER:
        fields = tree.get(part, {})
        block = _block(fields, "  ")
        if part == "reported" and len(rates) == 1:
            block += [f"  {line}" for line in _rate(rates[0], fields)]
        if block:
            lines += ["", f"{part}:", *block]
    return lines


def _block(fields: dict[str, list[Stated]], indent: str) -> list[str]:
    lines: list[str] = []
    inner: dict[str, dict[str, list[Stated]]] = {}
    for name, items in fields.items():
        head, _, rest = name.partition(".")
        if rest:
            inner.setdefault(head, {})[rest] = items
            continue
        lines.append(f"{indent}{name}: {_value(items[0])}   # {_said(items[0].words)}")
    for name, below in inner.items():
        lines += [f"{indent}{name}:", *_block(below, indent + "  ")]
    return lines


def _rows(rates: Sequence[Rate], place: Placed) -> list[str]:
    """Several rates as measurements, each with what its own words say."""
    if len(rates) < 2:
        return []
    lines = ["", "measurements:"]
    for number, (rate, own) in enumerate(zip(rates, place.rows, strict=True), 1):
        lines += [f"  - id: rate-{number}", *(f"    {line}" for line in _fields(own, ()) if line)]
        lines += ["    reported:", *(f"      {line}" for line in _rate(rate, {}))]
    return lines


def _doubt(doubt: Doubt) -> str:
    return f"{doubt.subject}: the post says {_said(doubt.words)}; {doubt.why}"


def _rate(rate: Rate, answered: dict[str, list[Stated]]) -> list[str]:
    number = f"value: {rate.low}" if rate.high is None else f"range: [{rate.low}, {rate.high}]"
    lines = [] if "value" in answered else [f"{number}   # {_said(rate.words)}"]
    if lines and rate.rounded_to:
        lines.append(f"rounded_to: {rate.rounded_to}")
    if lines and rate.about:
        lines.append("about: true")
    if rate.basis and "basis" not in answered:
        lines.append(f"basis: {rate.basis}   # {_said(rate.basis_words)}")
    if rate.streams and "streams" not in answered:
        lines.append(f"streams: {rate.streams}   # {_said(rate.streams_words)}")
    return lines


def _value(item: Stated) -> str:
    if isinstance(item.value, int) or item.field in _NUMBERS:
        return str(item.value)
    return _text(item.value)


def _text(text: str) -> str:
    # A JSON string is a double-quoted YAML scalar.
    return orjson.dumps(text).decode()


def _said(words: str) -> str:
    return f'"{_comment(words)}"'


def _comment(words: str, width: int = _WIDTH) -> str:
    words = " ".join(words.split())
    return words if len(words) <= width else f"{words[: width - 3]}..."
