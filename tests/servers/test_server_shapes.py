"""Every documented shape of counters and of what events add, each named by the file and version it was read from."""

import json
from typing import Any

import pytest

from auditor.core.adapter import NOTES, Details
from auditor.core.counting.counters import Counters
from auditor.servers import load_adapters

ADAPTERS = load_adapters()
COUNTS = ("delivered", "prompt_tokens", "cached_tokens", "drafted", "accepted", "verify_steps", "steps", "requests")

V1 = """\
vllm:generation_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="1",model_name="m"} 60.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 40.0
"""
V1_SPEC = """\
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 30.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 90.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 50.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 28.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 22.0
"""
V1_STEPS = """\
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 4.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 110.0
"""
V0_SPEC = """\
vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.61
vllm:spec_decode_efficiency{model_name="m"} 0.5
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 123456.0
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 234567.0
vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 345678.0
"""
DIFFUSION = """\
vllm:diffusion_num_denoising_steps_total{engine="0",model_name="m"} 30.0
vllm:diffusion_num_committed_tokens_total{engine="0",model_name="m"} 150.0
"""
LLAMACPP = "llamacpp:tokens_predicted_total 160\nllamacpp:prompt_tokens_total 40\nllamacpp:n_decode_total 70\n"
LLAMACPP_SPEC = """\
llamacpp:spec_decode_num_drafts_total 30
llamacpp:spec_decode_num_draft_tokens_total 90
llamacpp:spec_decode_num_accepted_tokens_total 50
"""
SGLANG = 'sglang:generation_tokens_total{model_name="m",tp_rank="0"} 160.0\nsglang:prompt_tokens_total 40.0\n'
TRTLLM = 'trtllm_request_success_total{finished_reason="stop"} 3.0\ntrtllm_e2e_request_latency_seconds_count 3.0\n'
TRTLLM_TOKENS = """\
trtllm_generation_tokens_total{engine_type="trtllm",model_name="m"} 160.0
trtllm_prompt_tokens_total{engine_type="trtllm",model_name="m"} 40.0
trtllm_spec_decode_num_draft_tokens_total{engine_type="trtllm",model_name="m"} 90.0
trtllm_spec_decode_num_accepted_tokens_total{engine_type="trtllm",model_name="m"} 50.0
trtllm_spec_decode_acceptance_length{engine_type="trtllm",model_name="m"} 2.7
"""
TGI = """\
# TYPE tgi_request_skipped_tokens summary
tgi_request_skipped_tokens{quantile="0.99"} 2
tgi_request_skipped_tokens_sum 50
tgi_request_skipped_tokens_count 110
tgi_request_generated_tokens_bucket{le="+Inf"} 3
tgi_request_generated_tokens_sum 160
tgi_request_generated_tokens_count 3
"""
LMDEPLOY = """\
lmdeploy:generation_tokens_total{engine="0",model_name="m"} 160.0
lmdeploy:prompt_tokens_total{engine="0",model_name="m"} 40.0
lmdeploy:cached_tokens_total{engine="0",model_name="m"} 8.0
lmdeploy:spec_decode_num_drafts_total{engine="0",model_name="m"} 30.0
lmdeploy:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 90.0
lmdeploy:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 50.0
"""
DYNAMO = 'dynamo_frontend_output_tokens_total{model="m"} 158\n'
DYNAMO_TRTLLM = DYNAMO + TRTLLM_TOKENS.replace("{", '{dynamo_namespace="d",dynamo_component="backend",')
DYNAMO_SGLANG = DYNAMO + SGLANG + 'sglang:spec_verify_calls_total{dynamo_component="backend"} 30.0\n'
MLC = "completion_tokens_sum\t160\nprompt_tokens_sum\t40\ndecode_tokens_sum\t171\n"
MLC_JSON = {
    "usage": {
        "extra": {
            "completion_tokens_sum": 160,
            "prompt_tokens_sum": 40,
            "spec_decode": {"draft_count": [30, 30, 30, 30], "accept_count": [30, 25, 15, 10]},
        }
    }
}


def row(number: int, *, drafts: tuple[int, int, int] | None = None, completed: int = 0, **more: Any) -> dict[str, Any]:
    """An iteration of TensorRT-LLM; `drafts` are drafted, accepted, and the requests that had drafts."""
    names = ("numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens")
    spec = {"specDecodingStats": dict(zip(names, drafts, strict=True))} if drafts else {}
    return {
        "iter": number,
        "iterLatencyMS": 9.1,
        "numActiveRequests": 2,
        "numCompletedRequests": completed,
        **spec,
        **more,
    }


ITERATIONS = [row(7), row(8, drafts=(6, 4, 2)), row(9, drafts=(6, 1, 2), completed=2)]
SPEC = {"drafted": 90, "accepted": 50, "verify_steps": 30}
TOKENS = {"delivered": 160, "prompt_tokens": 40}
NOTHING = {"drafted": 0, "accepted": 0, "verify_steps": 0}

COUNTERS: list[tuple[str, str, str, dict[str, object]]] = [
    ("vllm", "v1/spec_decode/metrics.py 0.33.0", V1 + V1_SPEC + V1_STEPS, {**TOKENS, **SPEC, "steps": 114}),
    ("vllm", "v1/spec_decode/metrics.py 0.8.5.post1", V1 + V1_SPEC, {**TOKENS, **SPEC}),
    ("vllm", "v1/metrics/loggers.py 0.33.0, no speculation", V1 + V1_STEPS, {**TOKENS, **NOTHING, "steps": 114}),
    ("vllm", "engine/metrics.py 0.6.6.post1 (V0)", V1 + V0_SPEC, TOKENS),
    ("vllm", "v1/spec_decode/metrics.py 0.27.1, diffusion", V1 + V1_STEPS + DIFFUSION, TOKENS),
    ("llamacpp", "server-context.cpp @92366df30d4e", LLAMACPP, TOKENS),
    ("llamacpp", "server-context.cpp after #26389", LLAMACPP + LLAMACPP_SPEC, {**TOKENS, **SPEC}),
    ("sglang", "srt/metrics/collector.py 0.5.9", SGLANG, TOKENS),
    (
        "sglang",
        "srt/observability/metrics_collector.py 0.5.17",
        SGLANG + "sglang:spec_verify_calls_total 30.0\n",
        {**TOKENS, "verify_steps": 30},
    ),
    ("ktransformers", "as SGLang 0.5.9", SGLANG, TOKENS),
    ("trtllm", "metrics/collector.py, older", TRTLLM, {"requests": 3}),
    (
        "trtllm",
        "metrics/collector.py @050f80def8df",
        TRTLLM + TRTLLM_TOKENS,
        {**TOKENS, "drafted": 90, "accepted": 50, "requests": 3},
    ),
    (
        "trtllm",
        "serve/openai_server.py @00057725d9a6",
        json.dumps(ITERATIONS),
        {"drafted": 12, "accepted": 5, "verify_steps": 4, "requests": 2},
    ),
    (
        "trtllm",
        "serve/openai_server.py, attention-DP: ranks repeat an iteration",
        json.dumps([*ITERATIONS, *(one | {"attentionDpRank": 1} for one in ITERATIONS)]),
        {"drafted": 12, "accepted": 5, "verify_steps": 4, "requests": 2},
    ),
    (
        "trtllm",
        "serve/openai_server.py, each iteration a text",
        json.dumps([json.dumps(one) for one in ITERATIONS]),
        {"drafted": 12, "accepted": 5, "verify_steps": 4, "requests": 2},
    ),
    ("trtllm", "serve/openai_server.py, no speculation", json.dumps([row(1), row(2, completed=1)]), {"requests": 1}),
    ("trtllm", "serve/openai_server.py, sampled", json.dumps([ITERATIONS[0], ITERATIONS[2]]), {"requests": 2}),
    ("trtllm", "serve/openai_server.py, nothing since", "[]", {}),
    (
        "tgi",
        "backends/v3/src/backend.rs @db931fcf",
        TGI,
        {"delivered": 160, "accepted": 50, "steps": 110, "requests": 3},
    ),
    ("lmdeploy", "metrics/loggers.py @1263d5cd", LMDEPLOY, {**TOKENS, **SPEC, "cached_tokens": 8}),
    (
        "lmdeploy",
        "metrics/loggers.py before #4625",
        LMDEPLOY.partition("lmdeploy:spec")[0],
        {**TOKENS, "cached_tokens": 8},
    ),
    ("mlc", "cpp/serve/metrics.cc @79d603f0", MLC, TOKENS),
    (
        "mlc",
        "cpp/serve/metrics.cc, JSON form",
        json.dumps(MLC_JSON),
        {**TOKENS, "drafted": 90, "accepted": 50, "verify_steps": 30},
    ),
    ("dynamo", "prometheus_names.rs @04070c75b52f", DYNAMO, {"delivered": 158}),
    ("dynamo", "with vLLM 0.33.0", DYNAMO + V1 + V1_SPEC + V1_STEPS, {**TOKENS, **SPEC, "steps": 114}),
    ("dynamo", "with SGLang 0.5.17", DYNAMO_SGLANG, {**TOKENS, "verify_steps": 30}),
    ("dynamo", "with TensorRT-LLM", DYNAMO_TRTLLM, {**TOKENS, "drafted": 90, "accepted": 50}),
    ("ollama", "no metrics", "x 1\n", {}),
    ("generic", "not read", V1, {}),
]


@pytest.mark.parametrize(("kind", "source", "text", "wanted"), COUNTERS, ids=[f"{k}: {s}" for k, s, *_ in COUNTERS])
def test_counters(kind: str, source: str, text: str, wanted: dict[str, object]) -> None:
    found = ADAPTERS[kind].counters(text)
    assert {name: getattr(found, name) for name in COUNTS if getattr(found, name) is not None} == wanted


@pytest.mark.parametrize(("kind", "source", "text", "wanted"), COUNTERS, ids=[f"{k}: {s}" for k, s, *_ in COUNTERS])
def test_a_series_that_is_missing_is_no_zero(kind: str, source: str, text: str, wanted: dict[str, object]) -> None:
    lines = text.splitlines(keepends=True)
    for name in {line.split("{")[0].split(" ")[0].split("\t")[0] for line in lines if ":" in line or "_" in line}:
        if text.startswith(("[", "{")):
            continue
        found = ADAPTERS[kind].counters("".join(line for line in lines if not line.startswith(name)))
        for count in COUNTS:
            value = getattr(found, count)
            assert value is None or value == wanted.get(count) or (count, kind) == ("delivered", "dynamo"), (
                name,
                count,
            )


def test_what_is_not_used_says_why() -> None:
    old = ADAPTERS["vllm"].counters(V1 + V0_SPEC)
    assert set(old.reasons) == {"drafted", "accepted"}
    assert "sums already" in old.reasons["drafted"]
    assert "without drafts" in ADAPTERS["vllm"].counters(V1 + V1_STEPS + DIFFUSION).reasons["steps"]
    sampled = ADAPTERS["trtllm"].counters(json.dumps([ITERATIONS[0], ITERATIONS[2]]))
    assert "1 iterations are not in the list" in sampled.reasons["drafted"]
    assert ADAPTERS["mlc"].counters(MLC + "accept_prob{step=1}\t0.9\n").reasons.keys() == {
        "drafted",
        "accepted",
        "verify_steps",
    }


def test_reasons_survive_the_difference() -> None:
    read = ADAPTERS["vllm"].counters
    difference = read(V1.replace("100.0", "150.0") + V0_SPEC).since(read(V1 + V0_SPEC))
    assert (difference.delivered, difference.drafted) == (50, None)
    assert difference.reasons


def test_scrapes_that_empty_add_up_and_are_no_difference() -> None:
    read = ADAPTERS["trtllm"].counters
    before, first, last = read(json.dumps(ITERATIONS)), read(json.dumps([row(10, drafts=(3, 2, 1))])), read("[]")
    assert before.is_since_last
    assert before.running == 2
    total = first.and_then(last)
    assert (total.drafted, total.accepted, total.verify_steps, total.running) == (3, 2, 1, None)
    assert total.since(before) == total
    spoiled = total.and_then(read(json.dumps([row(20, drafts=(3, 2, 1)), row(22, drafts=(3, 2, 1))])))
    assert spoiled.drafted is None
    assert "not in the list" in spoiled.reasons["drafted"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("trtllm", "[1, 2"),
        ("trtllm", "<html>"),
        ("mlc", "{no json"),
        ("mlc", "no tabs"),
        ("tgi", "x y z w"),
        ("lmdeploy", "<a>"),
    ],
)
def test_what_cannot_be_read_is_no_count(kind: str, text: str) -> None:
    with pytest.raises(ValueError):
        ADAPTERS[kind].counters(text)


VLLM_SPEC = {
    "mean_acceptance_length": 2.67,
    "draft_acceptance_rate": 0.56,
    "acceptance_histogram": [5, 5, 5, 15],
    "num_spec_steps": 30,
    "num_accepted_draft_tokens": 50,
    "num_draft_tokens": 90,
    "num_spec_tokens": 3,
}
VLLM_TIMES = {"time_to_first_token_ms": 72.5, "generation_time_ms": 851.4, "tokens_per_second": 69.3}
SGLANG_NEW = {
    "spec_num_correct_drafts": 50,
    "spec_num_proposed_drafts": 90,
    "spec_verify_ct": 30,
    "spec_accept_rate": 0.56,
}
LMSTUDIO_COUNTS = {"total_draft_tokens_count": 90, "accepted_draft_tokens_count": 50, "rejected_draft_tokens_count": 36}
TIMINGS = {"predicted_n": 12, "predicted_ms": 80.5, "prompt_ms": 10.0, "draft_n": 90, "draft_n_accepted": 50}
FULL = Details(drafted=90, accepted=50, verify_steps=30, draft_width=3)


def choice(**more: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None, **more}]}


DETAILS: list[tuple[str, str, dict[str, Any], Details | None]] = [
    (
        "vllm",
        "generate/base/protocol.py 0.33.0, detailed",
        {"metrics": {**VLLM_TIMES, "speculative_decoding": {**VLLM_SPEC, "per_step_accepted": [2, 0], "per_step_drafted": [3, 3]}}},
        Details(drafted=90, accepted=50, verify_steps=30, draft_width=3, accepted_per_step=(2, 0), drafted_per_step=(3, 3)),
    ),
    ("vllm", "generate/base/protocol.py 0.30.0, summary", {"metrics": {"speculative_decoding": VLLM_SPEC}}, FULL),
    ("vllm", "entrypoints/common/cli_args.py 0.27.1, times", {"metrics": VLLM_TIMES}, Details()),
    ("vllm", "n > 1", {"metrics": None}, None),
    ("sglang", "tokenizer_manager.py 0.4.6.post5", {"meta_info": {"spec_verify_ct": 30}}, Details(verify_steps=30)),
    (
        "sglang",
        "tokenizer_manager.py 0.5.3.post3",
        {"meta_info": {"spec_verify_ct": 30, "spec_accept_rate": 0.5, "spec_accept_length": 2.6}},
        Details(verify_steps=30),
    ),
    (
        "sglang",
        "tokenizer_manager.py 0.5.6.post2",
        {"meta_info": {"spec_verify_ct": 30, "spec_accept_token_num": 50, "spec_draft_token_num": 90}},
        FULL,
    ),
    (
        "sglang",
        "tokenizer_manager.py 0.5.12.post1, aliases",
        {"meta_info": {"spec_verify_ct": 30, "spec_accepted_drafts": 50, "spec_proposed_drafts": 90}},
        FULL,
    ),
    ("sglang", "tokenizer_manager.py 0.5.23", {"meta_info": SGLANG_NEW}, FULL),
    ("sglang", "openai/protocol.py 0.5.23", {"choices": [], "sglext": {"spec_tokens_details": SGLANG_NEW}}, FULL),
    ("sglang", "without speculation", {"meta_info": {"completion_tokens": 4}}, None),
    ("ktransformers", "as SGLang 0.5.23", {"meta_info": SGLANG_NEW}, FULL),
    ("llamacpp", "server-task.cpp @92366df30d4e", {"timings": TIMINGS}, Details(step=80.5, tokens=12, drafted=90, accepted=50)),
    ("llamacpp", "server-task.cpp, nothing drafted", {"timings": {"predicted_n": 12, "predicted_ms": 80.5}}, Details(step=80.5, tokens=12)),
    ("trtllm", "postprocess_handlers.py @01bf19231d29", choice(avg_decoded_tokens_per_iter=2.5), Details()),
    ("lmdeploy", "serve/openai/protocol.py @1263d5cd", choice(output_ids=[5, 6]), Details(token_ids=(5, 6))),
    ("lmdeploy", "ids within the delta", choice(delta={"content": "a", "output_ids": [5]}), Details(token_ids=(5,))),
    ("mlc", "usage.extra @79d603f0", {"choices": [], "usage": {"extra": {"decode_tokens_per_s": 88.0}}}, Details()),
    ("tabbyapi", "usage extras @e632af41", {"usage": {"total_time": 1.5, "prompt_tokens_per_sec": "Indeterminate"}}, Details()),
    ("ollama", "api/types.go @fb3076099687", {"done": True, "eval_duration": 7}, Details()),
    (
        "lmstudio",
        "api-changelog.md @c6854fba (0.3.10)",
        {"stats": {**LMSTUDIO_COUNTS, "ignored_draft_tokens_count": 4}},
        Details(drafted=90, accepted=50, ignored=4),
    ),
    ("lmstudio", "0.4.24: in the usage, ignored left out", {"usage": LMSTUDIO_COUNTS, "stats": {}}, Details(drafted=90, accepted=50, ignored=4)),
    ("lmstudio", "no rejected and no ignored", {"stats": {"total_draft_tokens_count": 9, "accepted_draft_tokens_count": 5}}, Details(drafted=9, accepted=5, ignored=None)),
    ("lmstudio", "/v1: empty stats", {"stats": {}}, None),
    ("dynamo", "adds nothing", choice(), None),
    ("generic", "prediction tokens are no drafts", {"usage": {"completion_tokens_details": {"accepted_prediction_tokens": 0}}}, None),
]  # fmt: skip
BARE = ("step", "tokens", "token_ids", "drafted", "accepted", "ignored", "verify_steps", "draft_width")
BARE += ("accepted_per_step", "drafted_per_step")


@pytest.mark.parametrize(("kind", "source", "event", "wanted"), DETAILS, ids=[f"{k}: {s}" for k, s, *_ in DETAILS])
def test_what_an_event_adds(kind: str, source: str, event: dict[str, Any], wanted: Details | None) -> None:
    found = ADAPTERS[kind].details(event)
    if wanted is None:
        assert found is None
    else:
        assert found is not None
        assert {name: getattr(found, name) for name in BARE} == {name: getattr(wanted, name) for name in BARE}
        assert found.reported or wanted != Details()


@pytest.mark.parametrize(("kind", "source", "event", "wanted"), DETAILS, ids=[f"{k}: {s}" for k, s, *_ in DETAILS])
def test_what_is_no_count_is_not_known(kind: str, source: str, event: dict[str, Any], wanted: Details | None) -> None:
    for wrong in ("many", -1, 1.5, None, [], {}, True):
        found = ADAPTERS[kind].details(_every_count(event, wrong))
        for name in ("tokens", "drafted", "accepted", "verify_steps", "draft_width"):
            assert found is None or getattr(found, name) is None, (wrong, name)


def _every_count(value: Any, wrong: object) -> Any:
    if isinstance(value, dict):
        return {key: _every_count(item, wrong) for key, item in value.items()}
    return wrong if isinstance(value, int) else value


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize(
    "event", [{}, {"choices": None}, {"choices": [1, None]}, {"usage": 3, "stats": 1, "metrics": []}]
)
def test_events_of_no_shape_add_nothing(kind: str, event: dict[str, Any]) -> None:
    assert ADAPTERS[kind].details(event) is None
    assert ADAPTERS[kind].seen([event]) == {}
    for route in ADAPTERS[kind].routes.values():
        assert route.shape()(event) == event


@pytest.mark.parametrize("kind", ADAPTERS)
def test_every_adapter_says_what_can_be_had(kind: str) -> None:
    adapter = ADAPTERS[kind]
    assert set(adapter.notes) == set(NOTES)
    assert all(note.why and note.kind in ("exact", "nominal", "absent") for note in adapter.notes.values())
    assert adapter.source
    if adapter.notes["drafted"].kind == "absent":
        assert adapter.notes["rejected"].kind == "absent"


def test_no_counters_are_no_counters() -> None:
    assert not Counters().has_any
    assert Counters(running=0).has_any
    assert Counters(is_since_last=True).has_any


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("vllm-0.32.0-2b78faf8", {"version": "0.32.0"}),
        ("vllm-0.33.0-tp4-2b78faf8", {"version": "0.33.0", "tensor_parallel": 4, "pipeline_parallel": 1, "data_parallel": 1}),
        ("vllm-0.33.1.dev5+gabc-tp2-pp2-dp4-ep-2b78faf8", {"version": "0.33.1.dev5+gabc", "tensor_parallel": 2, "pipeline_parallel": 2, "data_parallel": 4}),
        ("vllm-0.33.0-ep-nohash", {"version": "0.33.0", "tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1}),
        ("fp_ollama", {}),
        ("vllm-", {}),
        (None, {}),
    ],
)  # fmt: skip
def test_vllm_fingerprints(text: str | None, wanted: dict[str, object]) -> None:
    found = ADAPTERS["vllm"].seen([{"system_fingerprint": None}, {"system_fingerprint": text}])
    assert {name: fact.value for name, fact in found.items()} == wanted
