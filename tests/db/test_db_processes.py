"""Several processes on one database: nothing is lost, nobody fails."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from together import at_once

from auditor.db import tables
from auditor.db.engine import locate, make_engine
from auditor.db.rows import RunRow, VerdictRow
from auditor.db.store import open_store
from auditor.db.tables import REVISION

ADD = """
from auditor.db.store import open_store
url, worker, count = sys.argv[1:]
with open_store(url) as store:
    for n in range(int(count)):
        text = f"{worker}-{n}"
        store.add_claim(claim_id="shared", title=text, text=text, digest=text, added_ns=n)
        store.add_claim(claim_id="same", title="t", text=str(n), digest=str(n), added_ns=n)
        store.add_claim(claim_id=text, title=text, text=text, digest=text, added_ns=n)
"""

SAVE = """
from auditor.db.rows import RunRow, ServerRow, VerdictRow
from auditor.db.store import open_store
url, worker, count = sys.argv[1:]
with open_store(url) as store:
    for n in range(int(count)):
        digest = f"{worker}-{n}"
        store.save_run(
            RunRow("run", "fork", 1, "p", "f", 1),
            verdict=VerdictRow("inconclusive", 4, "s", 1, {}, digest),
            servers=[ServerRow(key, f"http://{key}/", "vllm", None, n + 1) for key in ("a", "b")],
        )
"""

UPGRADE = """
from auditor.db.engine import locate
from auditor.db.migrate import upgrade
print(upgrade(locate(sys.argv[1])).before)
"""

OPEN = """
from auditor.db.store import open_store
with open_store(None) as store:
    store.add_claim(claim_id=sys.argv[1], title="t", text="x", digest="d", added_ns=1)
"""


def test_two_processes_add_claims_at_once(database_url: str) -> None:
    count = 20
    at_once(ADD, (database_url, "a", str(count)), (database_url, "b", str(count)))
    everything = {f"{worker}-{n}" for worker in "ab" for n in range(count)}
    with open_store(database_url) as store:
        claims = {claim.claim_id: claim for claim in store.claims()}
        assert set(claims) == {"shared", "same", *everything}
        assert {store.claim_text("shared", n) for n in range(1, 2 * count + 1)} == everything
        assert {store.claim_text("same", n) for n in range(1, count + 1)} == {str(n) for n in range(count)}
    with Session(make_engine(locate(database_url))) as session:
        assert len(session.scalars(select(tables.Revision).filter_by(claim_id="same")).all()) == count


def test_two_processes_save_one_run_at_once(database_url: str) -> None:
    with open_store(database_url) as store:
        store.add_claim(claim_id="fork", title="t", text="x", digest="d", added_ns=1)
    count = 20
    at_once(SAVE, (database_url, "a", str(count)), (database_url, "b", str(count)))
    with Session(make_engine(locate(database_url))) as session:
        verdicts = session.scalars(select(tables.Verdict).order_by(tables.Verdict.seq)).all()
        assert [row.seq for row in verdicts] == list(range(1, 2 * count + 1))
        assert {row.digest for row in verdicts} == {f"{worker}-{n}" for worker in "ab" for n in range(count)}
        servers = session.scalars(select(tables.Server).order_by(tables.Server.url)).all()
        assert [(row.url, row.first_seen_ns, row.last_seen_ns) for row in servers] == [
            ("http://a/", 1, count),
            ("http://b/", 1, count),
        ]
        assert len(session.scalars(select(tables.RunServer)).all()) == 2


def test_processes_that_upgrade_at_once_take_turns(empty_url: str) -> None:
    outputs = at_once(UPGRADE, *[(empty_url,)] * 3)
    assert sorted(outputs) == [f"{REVISION}\n", f"{REVISION}\n", "None\n"]
    with open_store(empty_url) as store:
        assert store.claims() == []


def test_processes_that_use_the_default_file_first_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(OPEN, *[(f"claim-{n}",) for n in range(4)], folder=tmp_path)
    monkeypatch.chdir(tmp_path)
    with open_store(None) as store:
        assert [claim.claim_id for claim in store.claims()] == [f"claim-{n}" for n in range(4)]
    assert [path.name for path in tmp_path.iterdir()] == ["audit.db"]


def test_killed_process_leaves_a_whole_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill -9` within a transaction: what was saved before is there, the half is not."""
    monkeypatch.chdir(tmp_path)
    script = """
import os
from auditor.db.rows import FindingRow, RunRow
from auditor.db.store import open_store

class Last(list):
    def __iter__(self):
        yield FindingRow("c", "holds", "s")
        os.kill(os.getpid(), 9)

with open_store(None) as store:
    store.add_claim(claim_id="fork", title="t", text="x", digest="d", added_ns=1)
    store.save_run(RunRow("whole", "fork", 1, "p", "f", 1))
    store.save_run(RunRow("half", "fork", 1, "p", "f", 1), findings=Last())
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with open_store(None) as store:
        assert [run.run_id for run in store.runs()] == ["whole"]
        store.save_run(
            RunRow("half", "fork", 1, "p", "f", 2), verdict=VerdictRow("inconclusive", 4, "partial", 1, {}, "d")
        )
        assert [run.run_id for run in store.runs()] == ["half", "whole"]
