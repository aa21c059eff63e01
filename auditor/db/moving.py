"""A whole database to files, and files into a database: each in one transaction."""

from pathlib import Path

from auditor.db.engine import Place, make_engine, one_line, writing
from auditor.db.files import Export, Manifest, write_export
from auditor.db.merging import Merged, merge
from auditor.db.migrate import State, begin_reading, begin_writing, condition, prepare, unusable


def export_database(place: Place, path: Path) -> Manifest:
    """Write every row as it stood at one moment. Raises DatabaseError and UsageError."""
    engine = make_engine(place)
    found = condition(place, engine)
    if found.state is not State.CURRENT:
        raise unusable(place, found)
    if place.file is None:
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with one_line(place), engine.connect() as connection:
        begin_reading(place, connection)
        return write_export(connection, path)


def import_database(place: Place, path: Path, *, skip_conflicts: bool) -> Merged:
    """Add the rows of exported files. With conflicts, nothing is kept unless they may be skipped.

    Raises UsageError for files that no export can have written, and then nothing is kept either.
    """
    files = Export(path)
    engine = make_engine(place)
    prepare(place, engine)
    with one_line(place), writing(engine).connect() as connection, connection.begin() as transaction:
        # No other client may add a row between the look for it and its insert.
        begin_writing(place, connection, alone=True)
        merged = merge(connection, files)
        if merged.conflicts and not skip_conflicts:
            transaction.rollback()
    return merged
