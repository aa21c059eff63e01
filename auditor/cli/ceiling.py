"""`audit ceiling`: a claim, or a few numbers, beside what the hardware can do at most."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import Exit, UsageError

if TYPE_CHECKING:
    from auditor.core.claim.claim import Case
    from auditor.core.physics.figures import Figures

_EPILOG = """\b
Examples:
  audit ceiling claims/fork-130tps.yaml
  audit ceiling claims/fork-130tps.yaml --draft-tokens 2 --acceptance-length 2.73
  audit ceiling --gpu dgx-spark-gb10 --gpus 1 --model llama-3.3-70b --quantisation AWQ --value 82

\b
Exit codes:
  0  within the bound, or bounds without a number to judge
  1  the tool failed
  2  usage: a bad claim, option or number
  3  impossible in every reading
  4  impossible in some readings of what is not stated, or no bound could be worked out,
     with or without a number"""

_EXITS = {"within": Exit.OK, "open": Exit.UNDECIDED, "impossible": Exit.REFUTED, "unknown": Exit.UNDECIDED}
_COUNTS = click.IntRange(min=1, max=100_000)


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="[CLAIM]", required=False)
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@click.option("--gpu", metavar="GPU", help="Id of the GPU, its name as nvidia-smi prints it, or its PCI id.")
@click.option("--gpus", metavar="N", type=_COUNTS, help="Number of GPUs.")
@click.option("--model", metavar="ID|PATH", help="Id or name of the model, or the folder of a checkpoint.")
@click.option("--quantisation", metavar="FORMAT", help="Number format of the weights, as NVFP4.")
@click.option("--streams", metavar="N", type=_COUNTS, help="Requests in flight.")
@click.option("--draft-tokens", metavar="K", type=click.IntRange(0, 1000), help="Most drafted per step; 0 is none.")
@click.option("--acceptance-length", metavar="L", type=click.FloatRange(1, 1001), help="Tokens per verify step.")
@click.option("--value", metavar="RATE", help="The number to lay beside the bounds, tokens per second.")
@click.option("--context", metavar="N", type=click.IntRange(0, 100_000_000), help="Tokens of context of each stream.")
@click.option("--full", "is_full", is_flag=True, help="Show every reading, assumption and source too, as --json does.")
@database_option
@json_option
def ceiling(
    name: str | None, row: str | None, is_full: bool, database: str | None, as_json: bool, **numbers: Any
) -> int:
    """Lay CLAIM, or a few numbers, beside what the hardware can do at most.

    The hard bound takes the fewest bytes that a step can read, the expected bound what independent routing and the
    drafter's weights make of it. Options are laid over what the claim states. "Impossible" is said only above the hard
    bound in the most favourable reading of everything that is not stated.
    """
    from auditor.cli.ceilingtext import ceiling_text
    from auditor.cli.claimfile import find_claim
    from auditor.core.physics.laidbeside import ceiling_of
    from auditor.reference.formats import find_formats

    figures = _checkpoint(numbers)
    if name is None:
        if row is not None or numbers["gpu"] is None or numbers["model"] is None:
            raise UsageError("give a claim, or --gpu and --model", remedy="see `audit ceiling --help`")
        numbers["gpus"] = numbers["gpus"] or 1
        case = _laid_over({"claim_id": "numbers", "id": "numbers", "title": "numbers"}, numbers)
    else:
        claim, _ = find_claim(name, database)
        case = _laid_over(claim.case(row).model_dump(exclude_unset=True), numbers)
    given = frozenset(name for name in ("draft_tokens", "acceptance_length") if numbers[name] is not None)
    found = ceiling_of(case, figures, numbers["context"], given)
    output = Output(as_json)
    if figures is None and (text := numbers["quantisation"]) and not find_formats(text):
        output.note(f"--quantisation {text}: no one format that is known here; read as not stated")
    output.say(ceiling_text(found, is_full=is_full))
    output.document({"claim": None if name is None else case.claim_id, "case": case.id, "ceiling": found.model_dump()})
    return Exit.OK if found.claim_text is None and found.lines else _EXITS[found.outcome]


def _checkpoint(numbers: dict[str, Any]) -> "Figures | None":
    """The figures of a checkpoint, where --model names one on disk."""
    name = numbers["model"]
    if name is None or not Path(name).exists():
        return None
    from auditor.review.checkpoint import read_checkpoint

    found = read_checkpoint(Path(name))
    numbers["model"] = found.view.name
    return found.figures


def _laid_over(data: dict[str, Any], numbers: dict[str, Any]) -> "Case":
    """What is stated with the numbers given laid over it; raises UsageError for what a claim may not say."""
    from pydantic import ValidationError

    from auditor.core.claim.claim import Case

    def put(part: str, **values: Any) -> None:
        given = {field: value for field, value in values.items() if value is not None}
        if given:
            data[part] = {**data.get(part, {}), **given}

    put("hardware", gpu=numbers["gpu"], count=numbers["gpus"])
    if numbers["model"] is not None:
        data["model"] = {"id": numbers["model"]}
    put("model", quantisation=numbers["quantisation"])
    width, length = numbers["draft_tokens"], numbers["acceptance_length"]
    if width == 0:
        if length is not None:
            raise UsageError("--acceptance-length goes with --draft-tokens of 1 or more", remedy="leave one out")
        data["speculation"] = {"method": "none"}
    elif width is not None or length is not None:
        said = data.get("speculation", {})
        data["speculation"] = {} if said.get("method") == "none" else said
        put("speculation", draft_tokens=width, acceptance_length=length)
        _refuse_longer(data["speculation"])
    put("reported", streams=numbers["streams"])
    if numbers["value"] is not None:
        rest = {key: value for key, value in data.get("reported", {}).items() if key in _KEPT}
        data["reported"] = {**rest, "value": _number(numbers["value"])}
    try:
        return Case.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: {first['msg']}", remedy="see `audit ceiling --help`") from None


def _refuse_longer(speculation: dict[str, Any]) -> None:
    """Raises UsageError for a length that no step can give; one that a claim states by itself becomes a note."""
    width, length = speculation.get("draft_tokens"), speculation.get("acceptance_length")
    high = max(length) if isinstance(length, list | tuple) else length
    if isinstance(width, int) and isinstance(high, int | float) and high > width + 1:
        what = f"an acceptance length of {high:g} at k = {width}: a step gives at most k + 1 = {width + 1} tokens"
        raise UsageError(what, remedy="change --acceptance-length or --draft-tokens")


_KEPT = ("basis", "streams", "window", "counter", "per_gpu")


def _number(text: str) -> int | float:
    """A rate whose last written place counts: 82 is 81.5 to 82.5. Raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value <= 1e9:
        raise UsageError(f"--value {text}: not a number above 0 and at most 1e9", remedy="write 82 or 82.5")
    return int(text) if text.isdigit() else value
