"""A copy of a run beside the run that the database lists."""

import shutil
from pathlib import Path

from auditor.audit import judge_folder
from auditor.db.engine import locate
from auditor.db.migrate import upgrade
from auditor.db.store import open_store
from auditor.index import index_amendments, index_run
from auditor.publish.amending import amend

EXAMPLE = Path(__file__).parents[2] / "reports" / "example"


def test_a_copy_says_where_its_run_is_listed_and_a_moved_run_is_listed_anew(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'audit.db'}"
    upgrade(locate(database))
    said: list[str] = []

    def judge(name: str) -> str:
        result = judge_folder(tmp_path / name)
        index_run(result, text=(result.folder / "claim.yaml").read_text(), database=database, say=said.append)
        with open_store(database) as store:
            (run,) = store.runs()
        return Path(run.folder).name

    shutil.copytree(EXAMPLE, tmp_path / "run")
    shutil.copytree(EXAMPLE, tmp_path / "copy")
    assert judge("run") == "run"
    assert judge("run") == "run"
    assert said == []
    assert judge("copy") == "run"
    (words,) = said
    assert words.startswith(f"audit: the database lists this run at {tmp_path / 'run'}")
    (tmp_path / "run").rename(tmp_path / "moved")
    assert judge("copy") == "copy"
    assert len(said) == 1


def test_amendments_of_a_copy_are_not_stored_with_the_run_that_is_listed(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'audit.db'}"
    upgrade(locate(database))
    said: list[str] = []

    def amended() -> tuple[str, ...]:
        with open_store(database) as store:
            (run,) = store.runs()
        return run.amendments

    for name in ("run", "copy"):
        shutil.copytree(EXAMPLE, tmp_path / name)
    result = judge_folder(tmp_path / "run")
    index_run(result, text=(result.folder / "claim.yaml").read_text(), database=database, say=said.append)
    amend(tmp_path / "copy", "withdrawal", "of the copy", by=None, url=None, now_ns=1)
    index_amendments(tmp_path / "copy", database, said.append)
    assert amended() == ()
    (words,) = said
    assert words.startswith(f"audit: the database lists this run at {tmp_path / 'run'}")
    assert words.endswith("this copy was amended and is not listed")
    amend(tmp_path / "run", "reply", "of the run", by=None, url=None, now_ns=2)
    index_amendments(tmp_path / "run", database, said.append)
    assert amended() == ("reply",)
    assert len(said) == 1
