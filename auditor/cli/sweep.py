"""`audit sweep`: start the server of each row of a matrix, audit it, stop it, and give the table."""

import os
import secrets
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import Exit, UsageError

if TYPE_CHECKING:
    from auditor.audit import Result
    from auditor.core.claim.claim import Claim
    from auditor.core.sweeping.matrix import Recipe
    from auditor.core.sweeping.result import Sweep
    from auditor.sweepjob import Begun, Order

EPILOG = """\b
Exit codes:
  0    every row that was asked for has its result, whatever that is
  1    the tool failed, or a server does not end
  2    a bad matrix, claim or option; recipes that were not agreed to; a matrix that changed
  130  interrupted; the same command goes on

\b
Examples:
  audit sweep claims/sweeps/embedded.yaml --dry-run
  audit sweep claims/sweeps/embedded.yaml --yes
  audit sweep matrix.yaml --only marlin-tp4 --fresh"""


@click.command(epilog=EPILOG, context_settings={"show_default": True})
@click.argument("matrix", metavar="MATRIX", type=click.Path(dir_okay=False))
@click.option("--only", multiple=True, metavar="ROW", help="Only this row; again for more.")
@click.option("--fresh", is_flag=True, help="Begin anew, and do not go on with an earlier sweep of this matrix.")
@click.option("--dry-run", is_flag=True, help="Show the recipes, and start nothing.")
@click.option("--yes", is_flag=True, help="Start what the recipes say without asking.")
@click.option("--nvml", is_flag=True, help="GPUs of this machine: their facts, and samples during each row.")
@click.option("--reports", type=click.Path(file_okay=False), default="reports", help="Folder for runs and sweeps.")
@database_option
@json_option
def sweep(
    matrix: str,
    only: tuple[str, ...],
    fresh: bool,
    dry_run: bool,
    yes: bool,
    nvml: bool,
    reports: str,
    database: str | None,
    as_json: bool,
) -> int:
    """Start the server of each row of MATRIX, audit it, stop it, and give the table with a verdict for each.

    MATRIX is a file of yours that says how each server is started (docs/sweep.md). The recipes are shown before
    anything runs. A row that does not start, crashes or serves garbage is a result, and the sweep goes on; a sweep that
    was interrupted or killed goes on with the rows that are left.
    """
    from auditor.capture.sweepstate import begun, taken_up, unfinished
    from auditor.cli.progress import Display
    from auditor.sweep import Calls, run

    out = Output(as_json)
    order, text = _order(matrix, only, Path(reports), nvml, database)
    for recipe in order.recipes:
        _show(recipe, out)
    if dry_run:
        out.document({"recipes": [recipe.model_dump(mode="json") for recipe in order.recipes]})
        return Exit.OK
    for recipe in order.recipes:
        order.secrets(recipe)
    _agree(yes, as_json)
    _hang_up_as_interrupt()
    earlier = unfinished(order.reports, order.matrix.id, order.base)
    if earlier is None or fresh:
        first = _begin("sweep-")
        folder, state = begun(order.reports, order.matrix, order.digest, sweep=first.id, seed=first.seed)
    else:
        folder, state = earlier[0], taken_up(*earlier, order.digest)
        out.note(f"going on with {folder}: {len(state.rows)} of {len(state.order)} rows are measured")
    with Display() as display:
        calls = Calls(_begin, out.note, _keeper(text, database, out), display.watch)
        found = run(order, folder, state, calls)
    _tell(found, folder, out)
    return Exit.OK


def _order(matrix: str, only: tuple[str, ...], reports: Path, nvml: bool, database: str | None) -> "tuple[Order, str]":
    from auditor.cli.claimfile import read_text
    from auditor.cli.hardware import read_hardware
    from auditor.core.record import sha256
    from auditor.core.sweeping.matrix import chosen, parse_matrix, recipes_of
    from auditor.sweepjob import Order

    written = read_text(matrix)
    parsed, document = parse_matrix(written, matrix)
    base = Path(matrix).resolve().parent
    claim, text = _claim(parsed, base, database)
    recipes = chosen(recipes_of(parsed, document, claim), only)
    order = Order(
        matrix=parsed,
        digest=sha256(f"{sha256(written.encode())}{sha256(text.encode())}".encode()),
        recipes=recipes,
        claim=claim,
        claim_bytes=text.encode(),
        base=base,
        reports=reports,
        command=("audit", "sweep", matrix),
        environment=dict(os.environ),
        hardware=read_hardware({"nvml": nvml}),
        sampler=_sampler if nvml else None,
    )
    return order, text


def _claim(matrix: Any, base: Path, database: str | None) -> "tuple[Claim, str]":
    """The claim that the rows are judged by: a file beside the matrix, a stored one, or the matrix's own rows."""
    from auditor.cli.claimfile import find_claim
    from auditor.core.claim.claim import parse_claim
    from auditor.core.record import canonical_json
    from auditor.core.sweeping.matrix import own_claim

    if matrix.claim is None:
        text = canonical_json(own_claim(matrix)).decode()
        return parse_claim(text, "matrix"), text
    beside = base / matrix.claim
    return find_claim(str(beside) if beside.is_file() else matrix.claim, database)


def _sampler() -> Any:
    from auditor.capture.telemetry import Sampler

    return Sampler(())


def _show(recipe: "Recipe", out: Output) -> None:
    from auditor.core.sweeping.words import recipe_words

    for line in recipe_words(recipe):
        out.say(line)
    out.say("")


def _agree(yes: bool, as_json: bool) -> None:
    """Ask before anything of the recipes runs; raises UsageError where nobody can be asked."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise UsageError("the recipes above were not agreed to", remedy="read them, then give --yes")
    if not click.confirm("Start these on this machine?", err=True):
        raise UsageError("nothing was started", remedy="change the matrix, or give --only ROW")


def _hang_up_as_interrupt() -> None:
    """A terminal that closes ends the sweep as Ctrl-C does, and its server with it; `nohup` is left as it is."""
    with suppress(ValueError, AttributeError):
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, signal.default_int_handler)


def _begin(prefix: str = "") -> "Begun":
    from datetime import UTC, datetime

    from auditor.sweepjob import Begun

    now_ns = time.time_ns()
    moment = datetime.fromtimestamp(now_ns / 1e9, UTC)
    return Begun(f"{prefix}{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}", now_ns, secrets.randbits(32))


def _keeper(text: str, database: str | None, out: Output) -> Any:
    from auditor.index import index_run

    def keep(result: "Result") -> None:
        index_run(result, text=text, database=database, say=out.note)

    return keep


def _tell(found: "Sweep", folder: Path, out: Output) -> None:
    from auditor.cli.columns import fitted
    from auditor.core.sweeping.words import HEADS, LADDER_HEADS, ladder_of, table_of

    for line in fitted([HEADS, *table_of(found)]):
        out.say(line)
    for one in found.rows:
        if one.knee is not None:
            out.say("")
            out.say(f"{one.row}, by streams; knee {one.knee.sentence}")
            for line in fitted([LADDER_HEADS, *ladder_of(one)]):
                out.say(line)
    if found.left:
        out.say(f"Not measured yet: {', '.join(found.left)}.")
    out.say(f"\n{folder / 'sweep.html'}")
    out.document({"folder": str(folder), **found.model_dump(mode="json")})
