"""The speculation line that vLLM prints and LMDeploy copies, in all its wordings."""

import re

from auditor.core.enginelogs.printed import NUMBER, of_per_cent, printed
from auditor.core.enginelogs.records import Field

_N = NUMBER
_LINE = re.compile(
    r"(?:SpecDecoding|Speculative) metrics: "
    rf"(?:Draft acceptance rate: (?P<first_rate>{_N})(?P<percent>%?), )?"
    rf"(?:System efficiency: (?P<efficiency>{_N}), )?"
    rf"(?:Mean acceptance length: (?P<length>{_N}), )?"
    rf"(?:Accepted throughput: (?P<accepted_rate>{_N}) tokens/s, )?"
    rf"(?:Drafted throughput: (?P<drafted_rate>{_N}) tokens/s, )?"
    r"(?:Accepted: (?P<accepted>\d{1,12}) tokens, Drafted: (?P<drafted>\d{1,12}) tokens"
    r"|(?:Number of speculative tokens: (?P<width>\d{1,12}), )?"
    r"Number of accepted tokens: (?P<all_accepted>\d{1,12}), "
    r"Number of draft tokens: (?P<all_drafted>\d{1,12})(?:, Number of emitted tokens: (?P<emitted>\d{1,12}))?)"
    r"(?:, Per-position acceptance rate: (?P<positions>(?:\d\.\d{3}(?:, \d\.\d{3})*)?))?"
    rf"(?:, Avg Draft acceptance rate: (?P<last_rate>{_N})%)?"
    r"(?P<end>[\s,.\]]*(?:$|INFO|WARNING|\((?:APIServer|EngineCore)))"
)
NEEDLES = (b"SpecDecoding metrics: ", b"Speculative metrics: ")


def speculation(text: str) -> dict[str, Field] | None:
    """The fields of the line's first speculation entry; None where there is none or it is torn.

    Counts of the V0 engine run from the start of the server: `is_cumulative` is 1.
    """
    match = _LINE.search(text)
    if match is None:
        return None
    part = match.groupdict()
    fields: dict[str, Field] = {}
    for name in ("accepted_rate", "drafted_rate"):
        _put(fields, name, part[name])
    _put(fields, "acceptance_length", part["length"])
    _put(fields, "system_efficiency", part["efficiency"])
    rate = printed(part["last_rate"] or part["first_rate"])
    if rate is not None:
        fields["reported_acceptance"] = of_per_cent(rate) if part["last_rate"] or part["percent"] else rate
    if part["positions"]:
        fields["per_position"] = tuple(p for p in map(printed, part["positions"].split(", ")) if p is not None)
    if part["accepted"] is not None:
        fields |= {"accepted": int(part["accepted"]), "drafted": int(part["drafted"])}
    else:
        fields |= {"accepted": int(part["all_accepted"]), "drafted": int(part["all_drafted"])}
        fields["is_cumulative"] = int(part["width"] is not None)
        if part["width"]:
            fields["draft_width"] = int(part["width"])
        if part["emitted"]:
            fields["emitted"] = int(part["emitted"])
    return fields


def _put(fields: dict[str, Field], name: str, text: str | None) -> None:
    number = printed(text)
    if number is not None:
        fields[name] = number
