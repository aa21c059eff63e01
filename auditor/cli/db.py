"""`audit db`: create, upgrade and look at the database, write it to files and take files in."""

from typing import TYPE_CHECKING

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import Exit

if TYPE_CHECKING:
    from auditor.db.merging import Merged


@click.group()
def db() -> None:
    """Create, upgrade and look at the database, write it to files and take files in.

    Without --database it is the file audit.db in the working folder, which every command creates and upgrades by
    itself. Any other database is made ready by `audit db upgrade` alone.
    """


@db.command(
    epilog="""\b
Exit codes:
  0  the database is at the newest revision
  1  it cannot be reached, is locked, or is from a newer version
  2  usage: a bad address or option"""
)
@database_option
@json_option
def upgrade(database: str | None, as_json: bool) -> None:
    """Create the tables, or bring them to the newest revision.

    All or nothing. An older SQLite file is first copied to FILE.before-REVISION.
    """
    from auditor.db.engine import locate
    from auditor.db.migrate import upgrade as upgrade_database

    place = locate(database)
    done = upgrade_database(place)
    out = Output(as_json)
    if done.before == done.after:
        out.say(f"{place.name}: already at revision {done.after}")
    else:
        out.say(f"{place.name}: upgraded from {done.before or 'nothing'} to revision {done.after}")
    if done.copy is not None:
        out.say(f"copy of the database as it was: {done.copy}")
    out.document(
        {
            "database": place.name,
            "before": done.before,
            "after": done.after,
            "copy": None if done.copy is None else str(done.copy),
        }
    )


@db.command(
    epilog="""\b
Exit codes:
  0  commands can use the database
  1  they cannot: it is missing, empty, older, newer, locked or out of reach
  2  usage: a bad address or option"""
)
@database_option
@json_option
def status(database: str | None, as_json: bool) -> Exit:
    """Say at which revision the database is and what it holds; changes nothing."""
    from auditor.db.engine import locate, make_engine
    from auditor.db.migrate import State, condition, count_rows, unusable
    from auditor.db.tables import REVISION

    place = locate(database)
    engine = make_engine(place)
    found = condition(place, engine)
    ready = found.state is State.CURRENT
    usable = ready or (place.is_default and found.state in (State.MISSING, State.EMPTY, State.OLDER))
    rows = count_rows(place, engine) if ready else None
    out = Output(as_json)
    if rows is not None:
        out.say(f"{place.name}: at revision {found.revision}, the newest")
        out.say(", ".join(f"{count} {name}" for name, count in rows.items()))
    elif usable:
        out.say(f"{place.name}: {found.state}; the next command that needs it brings it to revision {REVISION}")
    else:
        out.say(str(unusable(place, found)))
    out.document(
        {
            "database": place.name,
            "state": found.state,
            "revision": found.revision,
            "newest": REVISION,
            "usable": usable,
            "rows": rows,
        }
    )
    return Exit.OK if usable else Exit.FAILED


@db.command(
    epilog="""\b
Exit codes:
  0  done
  2  usage: a bad address or option"""
)
@database_option
@json_option
def path(database: str | None, as_json: bool) -> None:
    """Say where the database is: the path of the file, or the address without its password."""
    from auditor.db.engine import locate

    place = locate(database)
    file = None if place.file is None else str(place.file)
    out = Output(as_json)
    out.say(file or place.name)
    out.document({"database": place.name, "path": file, "exists": None if file is None else not place.is_missing})


@db.command(
    epilog="""\b
Exit codes:
  0  the files are written
  1  the database cannot be used
  2  usage: a bad address or option, or there is something at PATH"""
)
@click.argument("path", metavar="PATH")
@database_option
@json_option
def export(path: str, database: str | None, as_json: bool) -> None:
    """Write the whole database to files.

    PATH is a new folder, with one file a table, or one file where the name ends in .jsonl. A row is a line of JSON.
    Equal databases give equal bytes, whether SQLite or PostgreSQL. Run folders are not in it: they are the proof, and
    travel with `audit bundle`.
    """
    from pathlib import Path

    from auditor.core.record import sha256
    from auditor.db.engine import locate
    from auditor.db.moving import export_database

    place = locate(database)
    written = export_database(place, Path(path))
    rows = {name: table.rows for name, table in written.tables.items()}
    digest, out = sha256(written.line()), Output(as_json)
    out.say(f"{place.name}: {sum(rows.values()):,} rows at revision {written.revision} written to {path}")
    out.say(f"digest {digest}, the same for equal databases")
    out.document({"database": place.name, "path": path, "revision": written.revision, "digest": digest, "rows": rows})


@db.command(
    "import",
    epilog="""\b
Exit codes:
  0  every row is in the database, or all but those in conflict with --skip-conflicts
  1  there are conflicts and nothing was imported, or the database cannot be used
  2  usage: a bad address or option, or PATH is no export, was changed or is from a newer version""",
)
@click.argument("path", metavar="PATH")
@click.option("--skip-conflicts", is_flag=True, help="Import the rest where rows are in conflict.")
@database_option
@json_option
def import_(path: str, skip_conflicts: bool, database: str | None, as_json: bool) -> Exit:
    """Add to the database what `audit db export` wrote to PATH.

    The database may be of either kind, empty or filled. Rows that are there stay; later verdicts and amendments of a
    run are appended; what says something else of the same thing is a conflict, and with one nothing is imported.
    """
    from pathlib import Path

    from auditor.db.engine import locate
    from auditor.db.moving import import_database

    place = locate(database)
    merged = import_database(place, Path(path), skip_conflicts=skip_conflicts)
    is_done = skip_conflicts or not merged.conflicts
    out = Output(as_json)
    out.say(_merged_text(merged, path, place.name, is_done=is_done))
    out.document(
        {
            "database": place.name,
            "path": path,
            "imported": is_done,
            "added": merged.added,
            "present": merged.present,
            "extended": merged.extended,
            "renumbered": merged.renumbered,
            "conflicts": merged.conflicts,
        }
    )
    return Exit.OK if is_done else Exit.FAILED


_SHOWN = 20
"""Lines of one kind that are shown; `--json` has all."""


def _merged_text(merged: "Merged", path: str, database: str, *, is_done: bool) -> str:
    from auditor.cli.columns import table

    lines = []
    for word, found in (
        ("conflict", merged.conflicts),
        ("later verdicts", merged.extended),
        ("renumbered", merged.renumbered),
    ):
        lines += [f"{word}: {one}" for one in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(f"{word}: {len(found) - _SHOWN:,} more")
    if not is_done:
        return "\n".join([*lines, f"{database}: nothing was imported; --skip-conflicts imports the rest"])
    added = merged.added.total()
    lines.append(f"{database}: {added:,} rows of {path} added, {merged.present.total():,} were there")
    names = sorted({*merged.added, *merged.present})
    rows = [(name, f"{merged.added[name]:,}", f"{merged.present[name]:,}") for name in names]
    return "\n".join([*lines, *table([("table", "added", "there"), *rows], right=(1, 2))])
