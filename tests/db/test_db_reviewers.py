"""Several reviewers on one database: runs, imports and amendments by processes at once, none lost, none doubled."""

import shutil
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from together import at_once

from auditor.audit import judge_folder
from auditor.db.engine import locate, make_engine
from auditor.db.rows import RunRow
from auditor.db.store import open_store
from auditor.db.tables import Base
from auditor.index import index_run
from auditor.publish.amending import amend

EXAMPLE = Path(__file__).parents[2] / "reports" / "example"

JUDGE = """
from pathlib import Path
from auditor.audit import judge_folder
from auditor.index import index_run
url, name = sys.argv[1:]
result = judge_folder(Path(name))
index_run(result, text=(result.folder / "claim.yaml").read_text(), database=url, say=print)
"""

WORK = """
from auditor.db.rows import AmendmentRow, ExchangeRow, ImportRow, RunRow, ServerRow, VerdictRow
from auditor.db.store import open_store
url, worker, count = sys.argv[1:]
with open_store(url) as store:
    for n in range(int(count)):
        claim = store.add_claim(claim_id="fork", title="t", text=f"{n}", digest=f"{n}", added_ns=n)
        for run_id in (f"{worker}-{n}", f"shared-{n}"):
            store.save_run(
                RunRow(run_id, "fork", claim.revision, "p", run_id, n),
                exchanges=[ExchangeRow(number, "code", "complete") for number in range(20)],
                verdict=VerdictRow("inconclusive", 4, "s", n, {}, run_id),
                servers=[ServerRow(key, f"http://{key}/", "vllm", None, n) for key in ("b", "a")],
            )
            said = [AmendmentRow(seq, "reply", "no", None, None, seq, f"{seq}") for seq in range(1, n + 2)]
            store.save_amendments(run_id, said)
        for folder in (f"{worker}-{n}", f"shared-{n}"):
            store.save_import(ImportRow(folder, "i", None, "vllm", "vllm", "b", "f", 1, n, None, None))
"""

CLASH = """
from auditor.db.rows import RunRow
from auditor.db.store import open_store
from auditor.errors import DatabaseError
url, worker = sys.argv[1:]
with open_store(url) as store:
    try:
        store.save_run(RunRow("run", "fork", 1, worker, worker, 1))
        print("stored")
    except DatabaseError as error:
        print(error)
"""


def counts(url: str) -> dict[str, Any]:
    with make_engine(locate(url)).connect() as connection:
        tables = Base.metadata.tables.items()
        return {name: connection.scalar(select(func.count()).select_from(table)) for name, table in tables}


def test_processes_store_runs_imports_and_amendments_at_once(database_url: str) -> None:
    workers, count = "abc", 4
    at_once(WORK, *[(database_url, worker, str(count)) for worker in workers])
    own = {f"{worker}-{n}" for worker in (*workers, "shared") for n in range(count)}
    with open_store(database_url) as store:
        runs = {run.run_id: run for run in store.runs()}
        assert set(runs) == own == {one.folder for one in store.imports()}
        for name, run in runs.items():
            number = int(name.rpartition("-")[2])
            assert run.amendments == ("reply",) * (number + 1)
            assert store.claim_text("fork", run.claim_revision) == str(number)
    assert counts(database_url) == {
        "claims": 1,
        "claim_revisions": count,
        "servers": 2,
        "imports": len(own),
        "runs": len(own),
        "verdicts": len(own),
        "exchanges": 20 * len(own),
        "run_servers": 2 * len(own),
        "amendments": (len(workers) + 1) * sum(range(count + 1)),
        "ledgers": 0,
        "findings": 0,
        "artefacts": 0,
    }


def test_copies_of_one_run_that_are_judged_at_once_are_one_run(database_url: str, tmp_path: Path) -> None:
    names = ("run", "copy")
    for name in (*names, "alone"):
        shutil.copytree(EXAMPLE, tmp_path / name)
        amend(tmp_path / name, "reply", "no", by=None, url=None, now_ns=1)
    said = at_once(JUDGE, *[(database_url, name) for name in names], folder=tmp_path)
    assert {line.partition(" this run at ")[0] for text in said for line in text.splitlines()} <= {
        "audit: the database lists"
    }
    together = counts(database_url)
    result = judge_folder(tmp_path / "alone")
    for name in names:
        shutil.rmtree(tmp_path / name)
    index_run(result, text=(result.folder / "claim.yaml").read_text(), database=database_url, say=print)
    assert counts(database_url) == together
    assert (together["runs"], together["verdicts"], together["amendments"]) == (1, 1, 1)


def test_of_two_runs_with_one_id_one_is_stored_and_the_other_is_told(database_url: str) -> None:
    with open_store(database_url) as store:
        store.add_claim(claim_id="fork", title="t", text="x", digest="d", added_ns=1)
    told = sorted(at_once(CLASH, *[(database_url, worker) for worker in "abc"]), key=len)
    assert told[0] == "stored\n"
    words = "run run: the database holds another run with this id, of claim 'fork'; "
    assert [line.startswith(words) and line.count("\n") == 1 for line in told[1:]] == [True, True]
    with open_store(database_url) as store:
        (run,) = store.runs()
        store.save_run(RunRow("run", "fork", 1, run.folder, run.folder, 1))
