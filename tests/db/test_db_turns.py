"""Two transactions on PostgreSQL, the one made to wait for the other at the worst moment."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, NullPool, create_engine, insert, select, text, update

from auditor.db.engine import locate, make_engine
from auditor.db.migrate import upgrade
from auditor.db.rows import ClaimRevision, RunRow, ServerRow
from auditor.db.saving import server_id
from auditor.db.store import Store, open_store
from auditor.db.tables import Claim, Revision, Server

pytestmark = pytest.mark.postgresql


@pytest.fixture
def store(postgresql_url: str) -> Iterator[Store]:
    upgrade(locate(postgresql_url))
    with open_store(postgresql_url) as opened:
        yield opened


@pytest.fixture
def engine(postgresql_url: str) -> Engine:
    return make_engine(locate(postgresql_url))


@contextmanager
def until_it_waits(engine: Engine, work: Callable[[], Any]) -> Iterator[list[Any]]:
    """Runs the work in a thread and enters once it waits for a lock; the result is there after the block."""
    result: list[Any] = []
    watch = create_engine(engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with ThreadPoolExecutor(1) as pool, watch.connect() as connection:
        future = pool.submit(work)
        while not connection.scalar(waiting):
            assert not future.done(), f"it did not wait: {future.exception() or future.result()}"
        yield result
        result.append(future.result(timeout=60))


def add(store: Store, words: str) -> ClaimRevision:
    return store.add_claim(claim_id="fork", title="t", text=words, digest=words, added_ns=1)


def revision(number: int, words: str) -> dict[str, Any]:
    return {"claim_id": "fork", "revision": number, "title": "t", "text": words, "digest": words, "added_ns": 1}


@pytest.mark.parametrize(("words", "is_new"), [("one", False), ("two", True)])
def test_claim_that_another_adds_first(store: Store, engine: Engine, words: str, is_new: bool) -> None:
    with engine.connect() as other:
        other.execute(insert(Claim).values(claim_id="fork", current=1, added_ns=1))
        other.execute(insert(Revision).values(revision(1, "one")))
        with until_it_waits(engine, lambda: add(store, words)) as result:
            other.commit()
    assert result == [ClaimRevision("fork", 2 if is_new else 1, words, is_new=is_new)]


def test_revision_that_another_adds_first(store: Store, engine: Engine) -> None:
    add(store, "one")
    with engine.connect() as other:
        other.execute(update(Claim).values(current=2))
        other.execute(insert(Revision).values(revision(2, "two")))
        with until_it_waits(engine, lambda: add(store, "three")) as result:
            other.commit()
    assert result == [ClaimRevision("fork", 3, "three", is_new=True)]
    assert store.claim_text("fork") == "three"


def save(store: Store, *servers: ServerRow) -> None:
    store.save_run(RunRow("run", "fork", 1, "p", "f", 1), servers=servers)


def test_server_that_another_saw_later(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store, ServerRow("subject", "http://a/", "vllm", None, 10))
    with engine.connect() as other:
        other.execute(update(Server).values(first_seen_ns=1, last_seen_ns=100))
        with until_it_waits(engine, lambda: save(store, ServerRow("subject", "http://a/", "vllm", None, 50))):
            other.commit()
        assert other.execute(select(Server.first_seen_ns, Server.last_seen_ns)).all() == [(1, 100)]


def test_servers_are_locked_in_one_order(store: Store, engine: Engine) -> None:
    """Whatever the order that a run names them in, so that two runs cannot wait for each other."""
    add(store, "one")
    servers = [ServerRow(key, f"http://{key}/", "vllm", None, 10) for key in "ab"]
    save(store, *servers)
    low, high = sorted(servers, key=server_id)

    def lock(other: Connection, server: ServerRow) -> None:
        other.execute(select(Server.server_id).where(Server.server_id == server_id(server)).with_for_update())

    with engine.connect() as other:
        lock(other, low)
        with until_it_waits(engine, lambda: save(store, high, low)) as result:
            lock(other, high)
            other.commit()
    assert result == [None]


def test_upgrade_waits_for_another(postgresql_url: str, engine: Engine) -> None:
    place = locate(postgresql_url)
    with engine.connect() as other:
        other.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": 0x61756469_74646231})
        with until_it_waits(engine, lambda: upgrade(place)) as result:
            other.rollback()
    assert [done.before for done in result] == [None]
