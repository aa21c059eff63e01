"""llama.cpp's log: the timings of each request and, on newer builds, its progress every three seconds.

Until July 2026 `eval time` divides all tokens by the time after the first one; newer builds leave the first one out.
The line itself shows which, for it prints the tokens, the time and the rate.
"""

import re
from collections.abc import Iterator

from auditor.core.enginelogs.llamajoin import Requests
from auditor.core.enginelogs.printed import NUMBER, printed, span
from auditor.core.enginelogs.records import EngineLog, Field, Parsed
from auditor.core.facts import Fact, FactName, known
from auditor.core.observed import public_path, told

_N = NUMBER
_SLOT = re.compile(r"slot\s+(\w+): id\s+(\d{1,12}) \| task (-?\d+) \|")
_TIMING = re.compile(
    rf"(?P<prompt>prompt )?eval time =\s*(?P<ms>{_N}) ms /\s*(?P<n>\d{{1,12}}) (?:tokens|runs)\s*"
    rf"\(\s*(?P<per>{_N}) ms per token,\s*(?P<rate>{_N}) tokens per second\)"
)
_DRAFT = re.compile(
    rf"draft acceptance(?: rate)? = (?P<rate>{_N}) \(\s*(?P<a>\d{{1,12}}) accepted /\s*(?P<d>\d{{1,12}}) generated\)"
    rf"(?:, mean(?: acceptance length| len) =\s*(?P<length>{_N})(?![\d.])"
    r"(?:, acceptance rate per position = \((?P<positions>[\d., ]*)\))?)?"
)
_PROGRESS = re.compile(
    rf"n_(?:decoded|gen) =\s*(?P<n>\d{{1,12}}), tg =\s*(?P<far>{_N}) t/s(?:, tg_3s =\s*(?P<last>{_N}) t/s)?"
)


def parse(text: str) -> Iterator[Parsed]:
    """The entry of a line. Older builds print the slot on a line of its own, before those that belong to it."""
    slot = _SLOT.search(text)
    source = f"slot {slot[2]} task {slot[3]}" if slot else ""
    if match := _TIMING.search(text):
        ms, rate = printed(match["ms"]), printed(match["rate"])
        fields: dict[str, Field] = {"tokens": int(match["n"])}
        if ms is not None:
            fields["seconds"] = span(ms, per=1000)
        if rate is not None:
            fields["rate"] = rate
        yield "prompt" if match["prompt"] else "eval", source, fields
    elif match := _DRAFT.search(text):
        yield "draft", source, _draft(match)
    elif match := _PROGRESS.search(text):
        fields = {"delivered": int(match["n"])}
        for name, group in (("so_far_rate", "far"), ("delivered_rate", "last")):
            number = printed(match[group])
            if number is not None:
                fields[name] = number
        yield "progress", source, fields
    elif slot:
        kinds = {"launch_slot_": "launch", "release": "release", "print_timing": "slot"}
        if kind := kinds.get(slot[1]):
            yield kind, source, {}


def _draft(match: re.Match[str]) -> dict[str, Field]:
    fields: dict[str, Field] = {"accepted": int(match["a"]), "drafted": int(match["d"])}
    for name, group in (("reported_acceptance", "rate"), ("acceptance_length", "length")):
        number = printed(match[group])
        if number is not None:
            fields[name] = number
    if match["positions"]:
        fields["per_position"] = tuple(p for p in map(printed, match["positions"].split(", ")) if p is not None)
    return fields


_BUILD = re.compile(r"build(?:_info)?: (b?\d+-\w+|\d+ \(\w+\))")
_DEVICE = re.compile(r"Device (\d{1,12}): (.{1,100}?), compute capability ([\d.]+)")
_FILE_TYPE = re.compile(r"file type\s*= (.{1,80}?)\s*$")
_LOADING = re.compile(r"load_model: loading model '([^']+)'")
_SLOTS = re.compile(r"n_slots = (\d{1,12})")
_SPECULATING = re.compile(r"adding speculative implementation '([\w-]+)'")
_SYNTHETIC = "--spec-synth-"
_WARNING = "synthetic speculative acceptance is enabled"


def facts(text: str) -> Iterator[tuple[FactName, Fact]]:
    """From the start lines."""
    if (match := _BUILD.search(text)) and match[1] != "b0-unknown":
        yield "version", told(match[1], "build line", "")
    if match := _DEVICE.search(text):
        yield "gpu", told(f"{match[2]}, compute capability {match[3]}", f"device {match[1]}", "")
    if match := _FILE_TYPE.search(text):
        yield "quantisation", told(match[1], "print_info, file type", "")
    if match := _LOADING.search(text):
        yield "model", told(public_path(match[1]), "load_model", "")
    if match := _SLOTS.search(text):
        yield "streams_max", known(int(match[1]), "load_model, n_slots")
    if "loading draft model" in text:
        yield "speculation", known(True, "a draft model was loaded")
    if match := _SPECULATING.search(text):
        yield "speculation", known(match[1] != "none", "speculative implementation")
        yield "speculation_method", told(match[1], "speculative implementation", "")
    if _SYNTHETIC in text:
        yield "acceptance_mode", known("synthetic", f"{_SYNTHETIC}* on the command line")
    if _WARNING in text:
        yield "acceptance_mode", known("synthetic", "its own warning")


LLAMACPP = EngineLog(
    name="llamacpp",
    title="llama.cpp",
    needles=(b"eval time =", b"draft acceptance", b" tg = ", b"slot launch_slot_", b"slot      release",
             b"print_timing: id"),
    parse=parse,
    joiner=Requests,
    seen="live: xllamacpp 2026.10; older shapes in public threads",
    averaging="one request from its first token to its last; `tg_3s` the last three seconds or more of one request",
    cannot_tell=(
        "The rate of all slots together: each line is one request.",
        "The time before the first token: it is in the prompt's line.",
        "Steps without a draft, and on builds before June 2026 the verify steps.",
        "Accepted tokens that were cut at the end of an answer: they are counted as accepted.",
    ),
    absent={
        "accepted_rate": "llama.cpp prints counts of accepted tokens, no rate",
        "drafted_rate": "llama.cpp prints counts of drafted tokens, no rate",
        "waiting": "llama.cpp does not print its queue in these lines",
        "scheduled": "llama.cpp prints no count of computed positions",
    },
    start_needles=(b"build", b"compute capability", b"file type", b"load_model: ", b"loading draft model",
                   b"speculative implementation", b"--spec-synth-", b"synthetic speculative acceptance"),
    start=facts,
)  # fmt: skip
"""llama.cpp."""
