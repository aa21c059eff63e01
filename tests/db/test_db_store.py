"""What the store keeps: claims with revisions, runs with what was found; on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from auditor.db import tables
from auditor.db.rows import (
    ArtefactRow,
    ClaimRevision,
    ClaimSummary,
    ExchangeRow,
    FindingRow,
    ImportRow,
    LedgerRow,
    RunRow,
    RunSummary,
    ServerRow,
    VerdictRow,
)
from auditor.db.store import Store, open_store
from auditor.errors import DatabaseError, UsageError

NOW = 1_900_000_000_123_456_789
RUN = RunRow("run-1", "fork", 1, "p" * 64, "reports/fork/run-1", started_ns=NOW, finished_ns=NOW + 5)
EXCHANGES = (
    ExchangeRow(
        1, "code", "complete", 1, 1000, "token_ids", 900, 600, 300, 400, 420, 51_000_001, 9_000_000_007, 111.25
    ),
    ExchangeRow(2, "code", "cut"),
)
LEDGER = LedgerRow(
    "code", {"n": 1000, "at": NOW, "words": "caf\u00e9 \u0000 \U0001f680", "rate": 0.1}, delivered=1000, first=1
)
FINDINGS = (FindingRow("identity", "holds", "N is what it must be"), FindingRow("identity", "error", "?", "look"))
VERDICT = VerdictRow(
    "not-comparable", 4, "other hardware", NOW, {"kind": "x"}, "d1", 129.5, 150.5, 39.6, 39.1, 40.0, "tokens/s"
)
ARTEFACTS = (ArtefactRow("wire.log", "a" * 64, 2**40), ArtefactRow("plan.json", "b" * 64, 10))
SERVER = ServerRow("subject", "http://me:pass@gpu:8000/v1?key=sk-1#x", "vllm", "0.24", NOW)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with open_store(database_url) as opened:
        yield opened


def add(store: Store, text: str, claim_id: str = "fork", at_ns: int = NOW) -> ClaimRevision:
    return store.add_claim(
        claim_id=claim_id, title=f"Title of {text}", text=text, digest=f"digest of {text}", added_ns=at_ns
    )


def save(store: Store, run: RunRow = RUN, **parts: Any) -> None:
    whole = {
        "exchanges": EXCHANGES,
        "ledgers": [LEDGER],
        "findings": FINDINGS,
        "verdict": VERDICT,
        "artefacts": ARTEFACTS,
        "servers": [SERVER],
    }
    store.save_run(run, **{**whole, **parts})


def rows(engine: Engine, table: type[tables.Base], *order: str) -> list[dict[str, Any]]:
    with Session(engine) as session:
        found = session.scalars(select(table).order_by(*(getattr(table, name) for name in order)))
        return [{name: getattr(row, name) for name in table.__table__.columns.keys()} for row in found]  # noqa: SIM118


def test_changed_text_is_a_new_revision_and_the_old_one_stays(store: Store) -> None:
    assert add(store, "one") == ClaimRevision("fork", 1, "digest of one", is_new=True)
    assert add(store, "two", at_ns=NOW + 1) == ClaimRevision("fork", 2, "digest of two", is_new=True)
    assert store.claim_text("fork") == "two"
    assert store.claim_text("fork", 1) == "one"
    assert store.claims() == [ClaimSummary("fork", "Title of two", 2, NOW + 1, runs=0, last_verdict=None)]


def test_same_text_is_no_new_revision(store: Store, engine: Engine) -> None:
    add(store, "one")
    assert add(store, "one", at_ns=NOW + 9) == ClaimRevision("fork", 1, "digest of one", is_new=False)
    assert [row["added_ns"] for row in rows(engine, tables.Revision)] == [NOW]


def test_old_text_that_came_back_is_current_again(store: Store, engine: Engine) -> None:
    add(store, "one"), add(store, "two")
    assert add(store, "one") == ClaimRevision("fork", 1, "digest of one", is_new=False)
    assert store.claim_text("fork") == "one"
    assert [summary.revision for summary in store.claims()] == [1]
    assert add(store, "three").revision == 3
    assert len(rows(engine, tables.Revision)) == 3


def test_same_text_under_two_ids_is_two_claims(store: Store) -> None:
    assert add(store, "one", "b-claim").is_new
    assert add(store, "one", "a-claim").is_new
    assert [summary.claim_id for summary in store.claims()] == ["a-claim", "b-claim"]


def test_text_comes_back_as_it_was(store: Store) -> None:
    text = "id: fork\r\ntitle: \u201c130 tok/s\u201d \U0001f680\n\n"
    add(store, text)
    assert store.claim_text("fork") == text


def test_unknown_claim_names_near_ones(store: Store) -> None:
    add(store, "one", "fork-130tps")
    with pytest.raises(UsageError, match=r"no claim 'fork-130tp' .*did you mean fork-130tps\?"):
        store.claim_text("fork-130tp")
    with pytest.raises(UsageError, match=r"no claim 'zzz' .*audit claims list"):
        store.claim_text("zzz")
    add(store, "two", "fork-130tps")
    with pytest.raises(UsageError, match="'fork-130tps' has no revision 3; it has 1 to 2"):
        store.claim_text("fork-130tps", 3)


def test_run_is_stored_whole(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store)
    (run,) = rows(engine, tables.Run)
    assert RunRow(**run) == RUN
    assert [ExchangeRow(**without(row, "run_id")) for row in rows(engine, tables.Exchange, "exchange")] == list(
        EXCHANGES
    )
    assert [LedgerRow(**without(row, "run_id")) for row in rows(engine, tables.Ledger)] == [LEDGER]
    assert [FindingRow(**without(row, "run_id", "seq")) for row in rows(engine, tables.Finding, "seq")] == list(
        FINDINGS
    )
    assert [VerdictRow(**without(row, "run_id", "seq")) for row in rows(engine, tables.Verdict)] == [VERDICT]
    assert {ArtefactRow(**without(row, "run_id")) for row in rows(engine, tables.Artefact)} == set(ARTEFACTS)


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_saving_twice_changes_nothing(store: Store, engine: Engine) -> None:
    add(store, "one")
    every = (
        tables.Run,
        tables.Exchange,
        tables.Ledger,
        tables.Finding,
        tables.Verdict,
        tables.Artefact,
        tables.Server,
        tables.RunServer,
    )
    save(store)
    before = {table: sorted(map(repr, rows(engine, table))) for table in every}
    save(store)
    assert {table: sorted(map(repr, rows(engine, table))) for table in every} == before
    assert all(before.values())


def test_saving_again_replaces_what_is_derived_and_appends_verdicts(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store)
    save(
        store, replace(RUN, partial=True), exchanges=EXCHANGES[:1], findings=(), ledgers=(), artefacts=(), verdict=None
    )
    assert [row["partial"] for row in rows(engine, tables.Run)] == [True]
    assert [
        len(rows(engine, table)) for table in (tables.Exchange, tables.Finding, tables.Ledger, tables.Artefact)
    ] == [1, 0, 0, 0]
    save(store, verdict=replace(VERDICT, kind="inconclusive", digest="d2"))
    save(store, verdict=replace(VERDICT, kind="inconclusive", digest="d2"))
    save(store, verdict=VERDICT)
    assert [(row["seq"], row["digest"]) for row in rows(engine, tables.Verdict, "seq")] == [
        (1, "d1"),
        (2, "d2"),
        (3, "d1"),
    ]
    assert store.runs()[0].verdict == "not-comparable"


def test_other_runs_are_left_alone(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store)
    save(store, replace(RUN, run_id="run-2"), exchanges=EXCHANGES[:1])
    assert [row["run_id"] for row in rows(engine, tables.Exchange, "run_id")] == ["run-1", "run-1", "run-2"]


def test_failed_save_leaves_what_was_there(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store)
    with pytest.raises(DatabaseError) as caught:
        save(store, replace(RUN, partial=True), findings=(), exchanges=(EXCHANGES[0], EXCHANGES[0]))
    assert "\n" not in str(caught.value)
    assert len(rows(engine, tables.Finding)) == 2
    assert [row["partial"] for row in rows(engine, tables.Run)] == [False]


def test_run_id_of_another_claim_is_refused(store: Store) -> None:
    add(store, "one"), add(store, "one", "other")
    save(store)
    with pytest.raises(DatabaseError, match="another run with this id, of claim 'fork'"):
        save(store, replace(RUN, claim_id="other"))
    with pytest.raises(DatabaseError, match="another run with this id"):
        save(store, replace(RUN, plan_digest="q" * 64))
    assert [(run.claim_id, run.run_id) for run in store.runs()] == [("fork", "run-1")]


def test_run_of_an_unknown_revision_is_refused(store: Store) -> None:
    add(store, "one")
    with pytest.raises(DatabaseError, match="revision 2 of claim 'fork' is not stored"):
        save(store, replace(RUN, claim_revision=2))
    assert store.runs() == []


def test_runs_newest_first_with_the_verdict_that_stands(store: Store) -> None:
    add(store, "one"), add(store, "one", "other")
    save(store)
    save(store, replace(RUN, run_id="run-3", started_ns=NOW + 3, quick=True, rehearsal=True), verdict=None)
    save(
        store,
        replace(RUN, run_id="run-2", claim_id="other", started_ns=NOW + 2),
        verdict=replace(VERDICT, kind="exceeded"),
    )
    assert [run.run_id for run in store.runs()] == ["run-3", "run-2", "run-1"]
    assert [run.run_id for run in store.runs("fork")] == ["run-3", "run-1"]
    assert store.runs("fork")[1] == RunSummary(
        "run-1",
        "fork",
        1,
        NOW,
        "not-comparable",
        4,
        "other hardware",
        39.6,
        "tokens/s",
        "reports/fork/run-1",
        False,
        False,
        False,
    )
    unjudged = store.runs("fork")[0]
    assert (unjudged.verdict, unjudged.exit_code, unjudged.sentence, unjudged.delivered) == (None, None, None, None)
    assert (unjudged.quick, unjudged.rehearsal, unjudged.partial) == (True, True, False)
    assert [(claim.runs, claim.last_verdict) for claim in store.claims()] == [(2, "not-comparable"), (1, "exceeded")]


def test_servers_are_seen_without_credentials(store: Store, engine: Engine) -> None:
    add(store, "one")
    plain = ServerRow("plain", "http://[::1]:9/", "generic", None, NOW)
    save(store, servers=[SERVER, plain, replace(SERVER, key="draft")])
    save(store, replace(RUN, run_id="run-2"), servers=[replace(SERVER, url="http://gpu:8000/v1", seen_ns=NOW + 7)])
    save(
        store,
        replace(RUN, run_id="run-3"),
        servers=[replace(SERVER, seen_ns=NOW - 7), replace(SERVER, key="new", version="0.25")],
    )
    seen = [
        (row["url"], row["version"], row["first_seen_ns"] - NOW, row["last_seen_ns"] - NOW)
        for row in rows(engine, tables.Server, "url", "version")
    ]
    assert seen == [
        ("http://[::1]:9/", None, 0, 0),
        ("http://gpu:8000/v1", "0.24", -7, 7),
        ("http://gpu:8000/v1", "0.25", 0, 0),
    ]
    keys = [(row["run_id"], row["key"]) for row in rows(engine, tables.RunServer, "run_id", "key")]
    assert keys == [
        ("run-1", "draft"),
        ("run-1", "plain"),
        ("run-1", "subject"),
        ("run-2", "subject"),
        ("run-3", "new"),
        ("run-3", "subject"),
    ]


def test_words_of_a_server_that_no_database_takes(store: Store, engine: Engine) -> None:
    add(store, "one")
    save(store, findings=[FindingRow("c", "fails", "nul \0, half \ud83d")])
    assert [row["sentence"] for row in rows(engine, tables.Finding)] == ["nul \ufffd, half ?"]


def test_text_that_is_no_unicode_is_refused(store: Store) -> None:
    with pytest.raises(DatabaseError, match=r"a value cannot be stored: .*surrogates not allowed"):
        add(store, "half \ud83d")
    with pytest.raises(DatabaseError, match="surrogates not allowed"):
        store.claim_text("\udcff")
    assert store.claims() == []


def test_document_that_is_no_json_is_refused(store: Store) -> None:
    add(store, "one")
    with pytest.raises(DatabaseError, match="not JSON compliant"):
        save(store, ledgers=[LedgerRow("code", {"rate": float("nan")})])
    assert store.runs() == []


def test_an_import_is_listed_by_its_claim_and_replaced_by_its_folder(store: Store) -> None:
    row = ImportRow(
        folder="reports/fork/import-1", import_id="import-1", claim_id="fork", format="vllm-bench", tool="vLLM bench serve",
        grade="timed", sha256="0" * 64, bytes=1 << 40, imported_ns=NOW, verdict="miscounted", sentence="\u201c130\u201d",
    )  # fmt: skip
    alone = replace(
        row, folder="reports/imports/import-1", claim_id=None, verdict=None, sentence=None, imported_ns=NOW + 1
    )
    for one in (row, alone, replace(row, verdict="inconclusive")):
        store.save_import(one)
    assert store.imports() == [alone, replace(row, verdict="inconclusive")]
    assert store.imports("fork") == [replace(row, verdict="inconclusive")]
