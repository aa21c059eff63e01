"""A whole database as files: one line of JSON a row, a file a table, and a first line that names them by digest.

A folder holds `database.json` and `TABLE.jsonl`; a single file holds the same bytes, one after the other. Rows stand in
the order of their key and every row is spelled in one way, so that equal databases give equal bytes, of either kind and
on every machine. What is read is what could have been written here, or it is refused with its line.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

import orjson
from pydantic import Field, ValidationError
from sqlalchemy import Table, select
from sqlalchemy.engine import Connection

from auditor.core.record import Record
from auditor.db.lines import Row, line_of, read_line
from auditor.db.tables import REVISION, Base
from auditor.errors import DatabaseError, UsageError

MANIFEST = "database.json"
ONE_FILE = ".jsonl"
"""The name of a single file ends in this."""
MAX_LINE = 64 << 20
"""Longest line that is read, in bytes."""
TABLES: Mapping[str, Table] = {table.name: table for table in Base.metadata.sorted_tables}
"""All of them, each after those that it refers to."""


class TableFile(Record):
    """What the first line says of one table."""

    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of its lines."""


class Manifest(Record):
    """The first line."""

    audit_database: Literal[1] = 1
    """Version of the form of these files."""
    revision: str = Field(pattern=r"^\w{1,32}$")
    """Of the tables."""
    tables: dict[str, TableFile]

    def line(self) -> bytes:
        """Its one spelling; as it names the other lines by digest, its own digest stands for the whole database."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def write_export(connection: Connection, path: Path) -> Manifest:
    """Write all rows to a new folder, or to one file where the name ends in `.jsonl`; whole or not at all.

    Raises UsageError where something is there already or nothing can be written.
    """
    is_folder = path.suffix != ONE_FILE
    try:
        if os.path.lexists(path) and not (is_folder and path.is_dir() and not any(path.iterdir())):
            raise UsageError("is there already", where=str(path), remedy="name another, or move it away")
        with _beside(path) as folder:
            tables = {name: _write_table(connection, table, folder) for name, table in TABLES.items()}
            manifest = Manifest(revision=REVISION, tables=tables)
            (folder / MANIFEST).write_bytes(manifest.line())
            (folder if is_folder else _join(folder)).replace(path)
    except OSError as error:
        what, remedy = f"cannot be written ({error.strerror})", "see to its folder, to space and permissions"
        raise UsageError(what, where=str(path), remedy=remedy) from error
    return manifest


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A folder on the same disk, gone after the block."""
    private = Path(tempfile.mkdtemp(prefix=".audit-db-", dir=path.absolute().parent))
    try:
        # One that others may read, as far as the umask lets them.
        folder = private / "export"
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _write_table(connection: Connection, table: Table, folder: Path) -> TableFile:
    # A server sorts texts by the rules of a language unless told otherwise.
    is_server = connection.dialect.name == "postgresql"
    keys = [key.collate("C") if is_server and key.type.python_type is str else key for key in table.primary_key.columns]
    rows = connection.execution_options(yield_per=1000).execute(select(table).order_by(*keys)).mappings()
    digest, count, size = hashlib.sha256(), 0, 0
    with (folder / _file(table.name)).open("wb") as file:
        for row in rows:
            try:
                line = line_of(dict(row))
            except ValueError:
                what = "holds NaN or infinity, which JSON has not"
                raise DatabaseError(what, where=f"table {table.name}", remedy="judge the run again") from None
            file.write(line)
            digest.update(line)
            count, size = count + 1, size + len(line)
    return TableFile(rows=count, bytes=size, sha256=digest.hexdigest())


def _join(folder: Path) -> Path:
    whole = folder / "whole"
    with whole.open("wb") as target:
        for name in (MANIFEST, *map(_file, TABLES)):
            with (folder / name).open("rb") as source:
                shutil.copyfileobj(source, target)
    return whole


def _file(table: str) -> str:
    return f"{table}.jsonl"


def read_manifest(path: Path) -> Manifest:
    """The first line of exported files; raises UsageError for what is none."""
    first = _first(path)
    with _reading(first) as file:
        line = file.readline(1 << 20)
    try:
        found = Manifest.from_json(line)
    except ValidationError:
        raise UsageError("is no export of a database that this version reads", where=str(first)) from None
    if found.line() != line:
        raise UsageError("its first line is not as this tool writes it", where=str(first), remedy="export again")
    return found


class Export:
    """Files that `write_export` wrote, or that say so; raises UsageError, with the line, for what it cannot have.

    `tables` are those of the revision that the manifest names.
    """

    def __init__(self, path: Path, manifest: Manifest, tables: Mapping[str, Table] = TABLES) -> None:
        self.path, self.manifest, self.tables = path, manifest, tables
        self._is_folder = path.is_dir()
        self._check_sizes()

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table in the order of their key; what they are is known once the last was read."""
        listed, checked = self.manifest.tables[table], self.tables[table]
        digest, left, last = hashlib.sha256(), listed.bytes, ()
        keys = [key.name for key in checked.primary_key.columns]
        start, lines = self._start(table)
        with _reading(self._path(table)) as file:
            file.seek(start)
            for number in range(1, listed.rows + 1):
                where = f"{self._path(table)}:{lines + number}"
                line = file.readline(min(left, MAX_LINE))
                left -= len(line)
                digest.update(line)
                row = read_line(line, checked, where)
                key = tuple(row[name] for name in keys)
                if last and key <= last:
                    raise UsageError(f"a row of {table} is there twice or out of order", where=where)
                last = key
                yield row
        if left or digest.hexdigest() != listed.sha256:
            raise UsageError(
                f"the rows of {table} are not those that were exported", where=str(self._path(table)),
                remedy="export again, or fetch the files again",
            )  # fmt: skip

    def _check_sizes(self) -> None:
        found = self.manifest
        if set(found.tables) != set(self.tables):
            what = f"names other tables than revision {found.revision} has"
            raise UsageError(what, where=str(_first(self.path)), remedy="export again")
        sizes = {name: table.bytes for name, table in found.tables.items()}
        if self._is_folder:
            differing = [self._path(name) for name, size in sizes.items() if _size(self._path(name)) != size]
        else:
            differing = [self.path] if _size(self.path) != len(found.line()) + sum(sizes.values()) else []
        if differing:
            what = "is cut off, longer than it was, or missing"
            raise UsageError(what, where=str(differing[0]), remedy="export again, or fetch the files again")

    def _path(self, table: str) -> Path:
        return self.path / _file(table) if self._is_folder else self.path

    def _start(self, table: str) -> tuple[int, int]:
        """Bytes and lines before a table's."""
        if self._is_folder:
            return 0, 0
        names = list(self.tables)
        before = [self.manifest.tables[name] for name in names[: names.index(table)]]
        return len(self.manifest.line()) + sum(one.bytes for one in before), 1 + sum(one.rows for one in before)


def _first(path: Path) -> Path:
    return path / MANIFEST if path.is_dir() else path


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    if not path.is_file():
        raise UsageError("there is no such file", where=str(path), remedy="name what `audit db export` wrote")
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from None
    with file:
        yield file


def _size(path: Path) -> int | None:
    """None for what is no plain file; a link may lead anywhere."""
    return path.stat().st_size if path.is_file() and not path.is_symlink() else None
