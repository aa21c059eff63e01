"""How the rows of exported files become rows of a database that may hold some of them.

Nothing is overwritten unsaid: a row that is there stays, one that is not is added, and what says something else under
the same key is a conflict. A claim's revisions meet by their digest and are numbered anew where the numbers differ. A
run is taken whole: where the files hold later verdicts of it, its derived rows become those of the last.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import Connection

from auditor.db.files import TABLES, Export
from auditor.db.lines import Row
from auditor.db.rows import ServerRow
from auditor.db.saving import DERIVED, server_id
from auditor.errors import UsageError

DERIVED_TABLES = tuple(table.__tablename__ for table in DERIVED)
HISTORIES = ("verdicts", "amendments")
"""Tables of a run to which rows are only appended."""
_OF_THE_COPY = ("folder", "finished_ns")
"""Columns of a run that differ between two machines that judged the same run."""


@dataclass(slots=True)
class Merged:
    """What became of the rows."""

    added: Counter[str] = field(default_factory=Counter)
    """New rows, by table."""
    present: Counter[str] = field(default_factory=Counter)
    """Rows that were there before, by table."""
    extended: list[str] = field(default_factory=list)
    """Runs that got later verdicts, and the rows derived for the last."""
    renumbered: list[str] = field(default_factory=list)
    """Revisions that have another number here."""
    conflicts: list[str] = field(default_factory=list)


def merge(connection: Connection, files: Export) -> Merged:
    """Add what is missing and leave out what is in conflict; the caller decides whether that stands.

    Raises UsageError for rows that refer to none.
    """
    merged = Merged()
    numbers = _merge_claims(connection, files, merged)
    _merge_servers(connection, files, merged)
    _merge_imports(connection, files, merged)
    children = {name: files.rows(name) for name in (*DERIVED_TABLES, *HISTORIES)}
    for run, parts in _grouped(files.rows("runs"), children, "run_id"):
        number = numbers.get((run["claim_id"], run["claim_revision"]))
        if number is None:
            raise UsageError("its revision of its claim is not in the files", where=f"run {run['run_id']}")
        _merge_run(connection, {**run, "claim_revision": number}, parts, merged)
    return merged


def _merge_claims(connection: Connection, files: Export, merged: Merged) -> dict[tuple[str, int], int]:
    """The number that each revision in the files has in the database."""
    numbers: dict[tuple[str, int], int] = {}
    children = {"claim_revisions": files.rows("claim_revisions")}
    for claim, parts in _grouped(files.rows("claims"), children, "claim_id"):
        revisions, name = parts["claim_revisions"], claim["claim_id"]
        if claim["current"] not in [row["revision"] for row in revisions]:
            raise UsageError("its current revision is not in the files", where=f"claim {name}")
        stored = {row["digest"]: row["revision"] for row in _stored(connection, "claim_revisions", "claim_id", name)}
        is_new, new = not stored, []
        for row in revisions:
            if row["digest"] not in stored:
                taken = stored.values()
                free = row["revision"] if row["revision"] not in taken else max(taken) + 1
                stored[row["digest"]] = free
                new.append({**row, "revision": free})
            else:
                merged.present["claim_revisions"] += 1
            number = numbers[name, row["revision"]] = stored[row["digest"]]
            if number != row["revision"]:
                merged.renumbered.append(f"revision {row['revision']} of claim {name} is {number} here")
        if is_new:
            _add(connection, "claims", [{**claim, "current": numbers[name, claim["current"]]}], merged)
        else:
            merged.present["claims"] += 1
        _add(connection, "claim_revisions", new, merged)
    return numbers


def _merge_servers(connection: Connection, files: Export, merged: Merged) -> None:
    for row in files.rows("servers"):
        name = row["server_id"]
        if server_id(ServerRow("", row["url"], row["kind"], row["version"], 0)) != name:
            raise UsageError("its id is not the digest of address, kind and version", where=f"server {name}")
        stored = _stored(connection, "servers", "server_id", name)
        if not stored:
            _add(connection, "servers", [row], merged)
            continue
        merged.present["servers"] += 1
        seen = {
            "first_seen_ns": min(row["first_seen_ns"], stored[0]["first_seen_ns"]),
            "last_seen_ns": max(row["last_seen_ns"], stored[0]["last_seen_ns"]),
        }
        if seen.items() - stored[0].items():
            table = TABLES["servers"]
            connection.execute(update(table).where(table.c.server_id == name).values(seen))


def _merge_imports(connection: Connection, files: Export, merged: Merged) -> None:
    for row in files.rows("imports"):
        stored = _stored(connection, "imports", "folder", row["folder"])
        if not stored:
            _add(connection, "imports", [row], merged)
        elif stored == [row]:
            merged.present["imports"] += 1
        else:
            names = ", ".join(name for name in row if row[name] != stored[0][name])
            merged.conflicts.append(f"import {row['folder']}: the database has another {names}")


def _merge_run(connection: Connection, run: Row, parts: Mapping[str, list[Row]], merged: Merged) -> None:
    name = run["run_id"]
    stored = next(iter(_stored(connection, "runs", "run_id", name)), None)
    if stored is None:
        _add(connection, "runs", [run], merged)
        for table, rows in parts.items():
            _add(connection, table, rows, merged)
        return
    histories = {table: _stored(connection, table, "run_id", name) for table in HISTORIES}
    later = {table: _later(histories[table], parts[table]) for table in HISTORIES}
    against = _against(connection, run, stored, parts, histories, later)
    if against:
        merged.conflicts.append(f"run {name}: {against}")
        return
    if later["verdicts"]:
        merged.extended.append(name)
        _replace(connection, run, parts)
    else:
        merged.present["runs"] += 1
        merged.present.update({table: len(parts[table]) for table in DERIVED_TABLES})
    for table in HISTORIES:
        rows = later[table] or []
        merged.present[table] += len(parts[table]) - len(rows)
        _add(connection, table, rows, merged)


def _against(
    connection: Connection,
    run: Row,
    stored: Row,
    parts: Mapping[str, list[Row]],
    histories: Mapping[str, list[Row]],
    later: Mapping[str, list[Row] | None],
) -> str | None:
    """Why a run cannot be the one that is stored; None where it can."""
    if any(run[name] != stored[name] for name in ("claim_id", "plan_digest")):
        return f"the database holds another run with this id, of claim {stored['claim_id']}"
    parted = [table for table in HISTORIES if later[table] is None]
    if parted:
        return f"its {' and '.join(parted)} here and in the files part"
    if len(parts["verdicts"]) != len(histories["verdicts"]):
        return None
    differing = [name for name in run if name not in _OF_THE_COPY and run[name] != stored[name]]
    differing += [
        table for table in DERIVED_TABLES if parts[table] != _stored(connection, table, "run_id", run["run_id"])
    ]
    return f"the same verdicts, but the database has other {', '.join(differing)}" if differing else None


def _later(stored: Sequence[Row], given: Sequence[Row]) -> list[Row] | None:
    """The rows that are not stored yet; None where one list is not the beginning of the other."""
    both = min(len(stored), len(given))
    if [(row["seq"], row["digest"]) for row in stored[:both]] != [(row["seq"], row["digest"]) for row in given[:both]]:
        return None
    return list(given[both:])


def _replace(connection: Connection, run: Row, parts: Mapping[str, list[Row]]) -> None:
    runs = TABLES["runs"]
    connection.execute(update(runs).where(runs.c.run_id == run["run_id"]).values(run))
    for name in DERIVED_TABLES:
        table = TABLES[name]
        connection.execute(delete(table).where(table.c.run_id == run["run_id"]))
        if parts[name]:
            connection.execute(insert(table), parts[name])


def _add(connection: Connection, table: str, rows: list[Row], merged: Merged) -> None:
    if rows:
        connection.execute(insert(TABLES[table]), rows)
        merged.added[table] += len(rows)


def _stored(connection: Connection, table: str, key: str, value: str) -> list[Row]:
    """The stored rows with this key, in the order of the files."""
    found = TABLES[table]
    rows = [dict(row) for row in connection.execute(select(found).where(found.c[key] == value)).mappings()]
    return sorted(rows, key=lambda row: tuple(row[column.name] for column in found.primary_key.columns))


def _grouped(
    parents: Iterator[Row], children: Mapping[str, Iterator[Row]], key: str
) -> Iterator[tuple[Row, dict[str, list[Row]]]]:
    """Each row with the rows of other tables that have its key; all are in the order of the key."""
    ahead = {name: next(rows, None) for name, rows in children.items()}
    for parent in parents:
        parts: dict[str, list[Row]] = {}
        for name, rows in children.items():
            parts[name] = []
            while (row := ahead[name]) is not None and row[key] == parent[key]:
                parts[name].append(row)
                ahead[name] = next(rows, None)
        yield parent, parts
    for name, row in ahead.items():
        if row is not None:
            raise UsageError(f"{name} holds a row of a {key} that is not in the files", where=row[key])
