"""A whole database to files, and files into a database: each in one transaction."""

import tempfile
from itertools import islice
from pathlib import Path

from sqlalchemy import MetaData, insert

from auditor.db.engine import Place, locate, make_engine, one_line, writing
from auditor.db.files import Export, Manifest, read_manifest, write_export
from auditor.db.merging import Merged, merge
from auditor.db.migrate import (
    State,
    begin_reading,
    begin_writing,
    condition,
    known_revisions,
    make_at,
    prepare,
    unusable,
    upgrade,
)
from auditor.db.tables import REVISION
from auditor.errors import UsageError


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

    Files of an earlier revision are brought to the newest first. Raises UsageError for files that no export can have
    written, and then nothing is kept either.
    """
    with tempfile.TemporaryDirectory(prefix="audit-db-") as scratch:
        return _import(place, _newest(path, Path(scratch)), skip_conflicts=skip_conflicts)


def _import(place: Place, files: Export, *, skip_conflicts: bool) -> Merged:
    engine = make_engine(place)
    prepare(place, engine)
    with one_line(place), writing(engine).connect() as connection, connection.begin() as transaction:
        # No other client may add a row between the look for it and its insert.
        begin_writing(place, connection, alone=True)
        merged = merge(connection, files)
        if merged.conflicts and not skip_conflicts:
            transaction.rollback()
    return merged


def _newest(path: Path, scratch: Path) -> Export:
    """The files, or what becomes of older ones in a database of their revision that is upgraded."""
    manifest = read_manifest(path)
    revision = manifest.revision
    if revision == REVISION:
        return Export(path, manifest)
    if revision not in known_revisions():
        what = f"was written at revision {revision}, this version knows none after {REVISION}"
        raise UsageError(what, where=str(path), remedy="upgrade the auditor")
    older, newer = locate(f"sqlite:///{scratch / 'older.db'}"), scratch / "newer"
    make_at(older, revision)
    engine, metadata = make_engine(older), MetaData()
    metadata.reflect(engine, only=lambda name, _: name != "alembic_version")
    tables = {table.name: table for table in metadata.sorted_tables}
    files = Export(path, manifest, tables)
    with one_line(older), writing(engine).begin() as connection:
        for name, table in tables.items():
            rows = files.rows(name)
            while some := list(islice(rows, 1000)):
                connection.execute(insert(table), some)
    upgrade(older)
    return Export(newer, export_database(older, newer))
