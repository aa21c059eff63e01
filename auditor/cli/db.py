"""`audit db`: create, upgrade and look at the database."""

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import Exit


@click.group()
def db() -> None:
    """Create, upgrade and look at the database.

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
