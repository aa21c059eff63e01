"""A whole run against a scripted server of each kind, and what the ledger says of it beside what the engine did."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dialects
import pytest
from engines import PROMPT_TOKENS, WIDTH, Answer, Dialect, Engine, generate, handler
from rawserver import raw_server

from auditor.audit import adapters_of, look, run
from auditor.capture.local import LocalServer
from auditor.capture.measure import measure
from auditor.capture.striking import Striker
from auditor.core import folder as names
from auditor.core.claim.claim import parse_claim
from auditor.core.counting.account import Account, account_for
from auditor.core.counting.evidence import assemble
from auditor.core.facts import RunFacts
from auditor.core.folder import Recount
from auditor.core.plan.making import Wishes
from auditor.core.plan.plan import Plan
from auditor.core.plan.prompts import Message, Prompt
from auditor.core.wire.log import read_wire
from auditor.errors import UsageError
from auditor.job import Job, ServerChoice
from auditor.servers import load_adapters

CLAIM = "schema: 1\nid: small\ntitle: A small claim\nreported: {value: 100, basis: decode, streams: 1}\n"
ADAPTERS = load_adapters()
TOKENS, REQUESTS = 20, 2
TRUTH = generate(TOKENS)


def job(url: str, folder: Path, **options: Any) -> Job:
    claim = parse_claim(CLAIM, "claim.yaml")
    prompts = tuple(
        Prompt(id=f"p{index}", kind="reviewer", origin="reviewer", messages=(Message(role="user", content=text),))
        for index, text in enumerate(("Count to a hundred.", "Count down from a hundred."))
    )
    return Job(
        claim=claim,
        case=claim.case(None),
        claim_bytes=CLAIM.encode(),
        servers=(ServerChoice("subject", url),),
        wishes=Wishes(tokens=TOKENS, repeats=1, prompts=prompts[:REQUESTS], suite=False),
        run="run-1",
        started_ns=1796113200000000000,
        seed=1,
        folder=folder / "run",
        command="audit run claim.yaml",
        **options,
    )


def measured(dialect: Dialect, folder: Path, engine: Engine | None = None, **options: Any) -> tuple[Account, Any]:
    """The account, and the facts of the server: the stages of a run up to where it is judged."""
    with raw_server(handler(dialect, engine or Engine())) as server:
        asked = job(server.url, folder, **options)
        plan = asyncio.run(_measure(asked))
    facts = RunFacts.from_json((asked.folder / names.FACTS).read_bytes())
    log = read_wire(asked.folder / names.WIRE)
    return account_for(assemble(log.records, log.damage), plan, adapters_of(facts)), facts.servers["subject"]


async def _measure(asked: Job) -> Plan:
    access = asked.access()
    facts, plan = await look(asked, access)
    asked.folder.mkdir()
    done = await measure(
        asked.folder,
        plan,
        facts,
        access=access,
        adapters=adapters_of(facts),
        striker=Striker(()),
        tokenizer=None,
        before=lambda known: names.write(asked.folder, names.FACTS, known.to_json()),
        watch=None,
    )
    assert done.stopped is None
    return plan


@dataclass(frozen=True)
class Case:
    """What is asked, and what must be found. Terms are those of one cell of REQUESTS answers."""

    dialect: Dialect
    kind: str
    rung: str
    terms: dict[str, int | None]
    identity: str = "not_available"
    options: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    reported: tuple[str, ...] = ()
    reason: str = ""
    """Words of the round on what was not used."""


def twice(**terms: int | None) -> dict[str, int | None]:
    return {name: None if value is None else value * REQUESTS for name, value in terms.items()}


DRAFTS = twice(drafted=TRUTH.drafted, accepted=TRUTH.accepted)
NO_DRAFTS = twice(drafted=None, accepted=None, verify_steps=None, rejected=None)
STEPS = twice(first=1, target_steps=TRUTH.verify_steps, verify_steps=TRUTH.verify_steps)
OVERSHOOT = 1 + sum(step.accepted or 0 for step in TRUTH.steps) + TRUTH.verify_steps - TRUTH.tokens


CASES = {
    "trtllm": Case(
        dialects.TRTLLM,
        "trtllm",
        "event_usage",
        {**DRAFTS, "verify_steps": None, **twice(rejected=TRUTH.drafted - TRUTH.accepted)},
        facts={
            "version": "1.2.1",
            "gpu": "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            "gpu_count": 4,
            "tensor_parallel": 4,
            "quantisation": "NVFP4",
            "context_length": 4096,
            "speculation": True,
            "speculation_method": "MTP",
            "draft_tokens": 3,
            "kv_cache_dtype": "fp8",
            "prefix_cache": True,
            "model_path": "glm",
        },
        reported=("avg_decoded_tokens_per_iter",),
    ),
    "trtllm, iterations only": Case(
        dialects.TRTLLM_JSON,
        "trtllm",
        "event_usage",
        {**DRAFTS, **twice(verify_steps=TRUTH.verify_steps)},
        facts={"gpu": None, "speculation": None},
    ),
    "tgi": Case(
        dialects.TGI,
        "tgi",
        "final_usage",
        twice(
            accepted=TRUTH.accepted_delivered,
            drafted=None,
            rejected=None,
            verify_steps=None,
            first=1,
            target_steps=TRUTH.verify_steps,
        ),
        identity="holds",
        facts={"version": "3.3.7", "context_length": 4096, "speculation": None, "quantisation": None},
    ),
    "tgi, native": Case(
        dialects.TGI_NATIVE,
        "tgi",
        "token_ids",
        twice(accepted=TRUTH.accepted_delivered, drafted=None, target_steps=TRUTH.verify_steps),
        identity="holds",
        options={"api": "native"},
    ),
    "lmdeploy": Case(
        dialects.LMDEPLOY,
        "lmdeploy",
        "token_ids",
        {**DRAFTS, **twice(verify_steps=TRUTH.verify_steps), "target_steps": None, "draft_width": WIDTH},
        facts={"tensor_parallel": 2, "context_length": 4096, "speculation": None},
    ),
    "ollama": Case(
        dialects.OLLAMA,
        "ollama",
        "final_usage",
        NO_DRAFTS,
        facts={"version": "0.33.0", "quantisation": "Q4_K_M", "context_length": 4096, "speculation": None},
    ),
    "ollama, native": Case(
        dialects.OLLAMA_NATIVE,
        "ollama",
        "final_usage",
        {**NO_DRAFTS, "prompt_tokens": PROMPT_TOKENS * REQUESTS},
        options={"api": "native"},
        reported=("eval_duration_ns", "prompt_eval_duration_ns"),
    ),
    "lmstudio": Case(
        dialects.LMSTUDIO,
        "lmstudio",
        "final_usage",
        {
            **DRAFTS,
            **twice(ignored=dialects.IGNORED, rejected=TRUTH.drafted - TRUTH.accepted - dialects.IGNORED),
            "verify_steps": None,
        },
        facts={"quantisation": "Q4_K_M", "context_length": 4096, "speculation": None},
        reported=("tokens_per_second",),
    ),
    "transformers": Case(
        dialects.TRANSFORMERS, "transformers", "final_usage", NO_DRAFTS, options={"model": "m"}, facts={"version": None}
    ),
    "dynamo": Case(
        dialects.DYNAMO,
        "dynamo",
        "final_usage",
        {**DRAFTS, **STEPS},
        identity="not_available",  # the remainder is an overshoot, and no draft width bounds it
        facts={"context_length": 4096, "gpu": None},
    ),
    "dynamo, engine elsewhere": Case(dialects.DYNAMO_ALONE, "dynamo", "final_usage", NO_DRAFTS),
    "sglang": Case(
        dialects.SGLANG,
        "sglang",
        "event_usage",
        {**DRAFTS, **STEPS},
        identity="holds",
        facts={"version": "0.5.23", "draft_tokens": WIDTH, "speculation_method": "EAGLE"},
        reported=("spec_accept_rate", "spec_accept_length"),
    ),
    "sglang, native": Case(
        dialects.SGLANG_NATIVE,
        "sglang",
        "token_ids",
        {**DRAFTS, **STEPS, "prompt_tokens": PROMPT_TOKENS * REQUESTS, "cached_tokens": 0},
        identity="holds",
        options={"api": "native"},
    ),
    "ktransformers": Case(
        dialects.KTRANSFORMERS, "ktransformers", "event_usage", {**DRAFTS, **STEPS}, identity="holds"
    ),
    "tabbyapi": Case(
        dialects.TABBYAPI,
        "tabbyapi",
        "final_usage",
        NO_DRAFTS,
        facts={"context_length": 4096, "kv_cache_dtype": "Q8", "speculation": True, "draft_tokens": None},
        reported=("completion_tokens_per_sec",),
    ),
    "mlc": Case(
        dialects.MLC,
        "mlc",
        "final_usage",
        NO_DRAFTS,
        facts={"speculation": True, "draft_tokens": WIDTH},
        reason="drafted: the text form gives ratios by position",
    ),
    "vllm": Case(
        dialects.VLLM,
        "vllm",
        "token_ids",
        {**DRAFTS, **STEPS},
        facts={"version": "0.33.0", "tensor_parallel": 4, "pipeline_parallel": 1, "data_parallel": 2},
    ),
    "generic": Case(dialects.GENERIC, "generic", "final_usage", NO_DRAFTS),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_counts_what_the_server_tells(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    account, facts = measured(case.dialect, tmp_path, **case.options)
    assert facts.kind == case.kind
    for name_, wanted in case.facts.items():
        found = facts.facts[name_]
        assert found.value == wanted, name_
        assert found.source if wanted is not None else found.reason, name_
    assert facts.dropped_fields == {}
    ledger = account.ledger
    assert [line.status for line in ledger.exchanges] == ["complete"] * REQUESTS
    for line in ledger.exchanges:
        assert line.rung == case.rung
        assert {count for rung, count in line.counts.items() if rung != "events"} == {TOKENS}
        assert line.notes == ()
        assert set(case.reported) <= set(line.reported)
    cell = ledger.cell("subject")
    assert cell is not None
    assert cell.tally.delivered == TOKENS * REQUESTS
    for term, wanted in case.terms.items():
        assert getattr(cell.tally, term) == wanted, term
    assert cell.identity.outcome == case.identity
    if cell.identity.outcome == "holds" and cell.tally.accepted == TRUTH.accepted * REQUESTS:
        assert cell.tally.overshoot_left == OVERSHOOT * REQUESTS
    assert case.reason in (cell.rounds[0].counters_reason or "")
    for term in ("drafted", "accepted"):
        if term in cell.sources:
            note = ADAPTERS[case.kind].notes[term]
            assert (f"nominal: {note.why}" in cell.sources[term]) == (note.kind == "nominal")
    assert {item.stream.text for item in account.counted} == {TRUTH.text}


def test_the_engine_of_the_tests_cuts_its_last_step() -> None:
    assert 0 < OVERSHOOT <= WIDTH
    assert TRUTH.accepted - TRUTH.accepted_delivered == OVERSHOOT


def test_what_others_were_served_spoils_the_list_of_iterations(tmp_path: Path) -> None:
    class Shared(Engine):
        def answer(self, length: int) -> Answer:
            super().answer(5)
            return super().answer(length)

    account, _ = measured(dialects.TRTLLM_JSON, tmp_path, Shared())
    cell = account.ledger.cell("subject")
    assert cell is not None
    assert cell.tally.drafted is None
    assert cell.rounds[0].counters_reason == "not used: the server served others too"


def test_counters_that_lag_are_read_until_they_stand_still(tmp_path: Path) -> None:
    told: list[int] = []

    def late(engine: Engine) -> bytes:
        """What was true one scrape ago."""
        told.append(engine.total("tokens"))
        return b"completion_tokens_sum\t%d\n" % told[max(0, len(told) - 2)]

    dialect = replace(dialects.MLC, gets={**dialects.MLC.gets, "/metrics": late})
    account, _ = measured(dialect, tmp_path)
    cell = account.ledger.cell("subject")
    assert cell is not None
    assert cell.rounds[0].counters is not None
    assert cell.rounds[0].other_traffic == 0


def test_transformers_may_be_asked_for_a_model_that_it_does_not_list(tmp_path: Path) -> None:
    gets = {**dialects.TRANSFORMERS.gets, "/v1/models": dialects.models(owned_by="someone")}
    account, facts = measured(replace(dialects.TRANSFORMERS, gets=gets), tmp_path, model="org/another")
    assert (facts.kind, facts.model) == ("transformers", "org/another")
    assert account.ledger.exchanges[0].status == "complete"


@pytest.mark.parametrize(
    ("dialect", "path", "count"),
    [
        (dialects.VLLM, "/tokenize", lambda body: {"count": len(body["prompt"].split()), "max_model_len": 9}),
        (
            dialects.SGLANG,
            "/tokenize",
            lambda body: {"tokens": body["prompt"].split(), "count": len(body["prompt"].split())},
        ),
        (dialects.GENERIC, "/tokenize", lambda body: {"tokens": body["content"].split()}),
        (dialects.TABBYAPI, "/v1/token/encode", lambda body: {"tokens": [], "length": len(body["text"].split())}),
    ],
)
def test_the_servers_own_tokenizer_is_asked_where_it_is(
    dialect: Dialect, path: str, count: Any, tmp_path: Path
) -> None:
    measured(replace(dialect, counts={path: count}), tmp_path)
    recount = Recount.from_json((tmp_path / "run" / names.RECOUNT).read_bytes())
    assert list(recount.counts.values()) == [TOKENS] * REQUESTS
    assert not recount.is_independent


def test_a_server_without_a_tokenizer_is_not_asked(tmp_path: Path) -> None:
    def refuse(body: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("asked")

    measured(replace(dialects.OLLAMA, counts={"/tokenize": refuse}), tmp_path)
    assert not (tmp_path / "run" / names.RECOUNT).exists()


def test_an_api_that_is_not_known_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    engine = Engine()
    with (
        raw_server(handler(dialects.LMDEPLOY, engine)) as server,
        pytest.raises(UsageError, match="no API of its own is known of LMDeploy; leave --api out"),
    ):
        run(job(server.url, tmp_path, api="native"))
    assert not engine.answers


def test_a_run_is_judged_on_three_kinds_of_drafts(tmp_path: Path) -> None:
    with raw_server(handler(dialects.LMSTUDIO, Engine())) as server:
        result = run(job(server.url, tmp_path))
    counts = result.verdict.cells[0]
    assert counts.rejected == (TRUTH.drafted - TRUTH.accepted - dialects.IGNORED) * REQUESTS
    ledger = json.loads((result.folder / names.LEDGER).read_bytes())
    assert ledger["cells"][0]["tally"]["ignored"] == dialects.IGNORED * REQUESTS


@pytest.mark.parametrize("fixture", ["local_plain", "local_draft"])
def test_llamacpp_in_its_own_api_gives_the_id_of_every_token(
    fixture: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: LocalServer = request.getfixturevalue(fixture)
    asked = job(server.url, tmp_path, api="native")
    plan = asyncio.run(_measure(asked))
    facts = RunFacts.from_json((asked.folder / names.FACTS).read_bytes())
    log = read_wire(asked.folder / names.WIRE)
    account = account_for(assemble(log.records, log.damage), plan, adapters_of(facts))
    if fixture == "local_draft":
        assert facts.servers["subject"].value("speculation_method") == "draft-simple"
    for line in account.ledger.exchanges:
        assert (line.status, line.notes, line.finish_reason) == ("complete", (), "length")
        assert (line.rung, line.tally.delivered) == ("token_ids", TOKENS)
        assert line.counts["final_usage"] == line.counts["event_usage"] == TOKENS
        assert line.identity.outcome == "holds"
        assert (line.tally.drafted or 0) > 0 or fixture == "local_plain"
