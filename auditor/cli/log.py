"""`audit log`: the timestamped token log of a run, for people, spreadsheets and notebooks."""

import csv
import io
import sys
from pathlib import Path

import click

from auditor.cli.judge import EPILOG, reports_option, run_folder
from auditor.cli.output import Output, json_option
from auditor.errors import AuditError, UsageError

_SUFFIXES = {".csv": "csv", ".parquet": "parquet"}


@click.command(epilog=EPILOG)
@click.argument("run", metavar="RUN")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "parquet"]),
    help="JSON lines for people, Parquet for notebooks. Default: by the suffix of --out, else jsonl.",
)  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="File to write; standard output without it.")
@reports_option
@json_option
def log(run: str, form: str | None, out: str | None, reports: str, as_json: bool) -> None:
    """Print every delivered token of RUN: when it came, its id and text, and the step it came out of.

    Times are nanoseconds after the request was sent (t_ns) and on the client's monotonic clock (mono_ns). With --json
    the document on standard output says what was written, so --out is needed too.
    """
    from auditor.core.folder import TOKENS

    if as_json and not out:
        raise UsageError("--json needs --out", remedy="give a file, or leave --json out and read the log itself")
    path = run_folder(run, reports) / TOKENS
    if not path.exists():
        raise UsageError("the run was not judged yet", where=str(path), remedy="`audit judge` makes the token log")
    form = form or _SUFFIXES.get(Path(out or "").suffix.lower(), "jsonl")
    data = _converted(path.read_bytes(), form)
    if out is None:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        except BrokenPipeError:
            sys.stderr.close()
        return
    try:
        Path(out).write_bytes(data)
    except OSError as error:
        raise AuditError(f"cannot be written ({error.strerror})", where=out) from error
    said = Output(as_json)
    said.say(f"{out}: {len(data):,} bytes")
    said.document({"file": out, "bytes": len(data), "format": form})


def _converted(lines: bytes, form: str) -> bytes:
    """The JSON lines as they are, as CSV, or as Parquet."""
    import orjson

    from auditor.core.counting.tokenlog import FIELDS

    if form == "jsonl":
        return lines
    rows = [orjson.loads(line) for line in lines.splitlines()]
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(FIELDS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    return _parquet(rows)


def _parquet(rows: list[dict[str, object]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from auditor.core.counting.tokenlog import FIELDS

    words = ("cell", "prompt", "text", "phase")
    schema = pa.schema([(name, pa.string() if name in words else pa.int64()) for name in FIELDS])
    described = schema.with_metadata({name.encode(): text.encode() for name, text in FIELDS.items()})
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=described), sink, compression="zstd")
    return sink.getvalue()
