"""Was it the same thing? Names are compared meanly, and what cannot be told is unknown and never equal."""

from typing import Any

import pytest
from runs import Cells, account, plan_of, recording

from auditor.core.claim.claim import Case, parse_claim
from auditor.core.facts import Fact, ServerFacts, known, unknown
from auditor.core.judging.compare import Comparison, compare, differing, unobserved
from auditor.core.judging.names import same_format, same_gpu, same_method, same_model, same_version, same_words
from auditor.terms import Match

MODELS = [
    ("Qwen3.5-397B", "nvidia/Qwen3.5-397B-A17B-NVFP4", True),
    ("qwen3.5-397b-a17b", "Qwen/Qwen3.5-397B", True),
    ("qwen 3.5 397b", "Qwen3.5-397B-A17B", True),
    ("Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct-FP8", True),
    ("SmolLM2-135M", "SmolLM2-135M-Instruct.Q4_1.gguf", True),
    ("glm-5", "zai-org/GLM-5-FP8", True),
    ("qwen3-30b-q4_k_m", "Qwen3-30B-A3B-UD-Q4_K_XL.gguf", True),
    ("GLM-4", "zai-org/GLM-4.5", False),
    ("GLM-4.5", "zai-org/GLM-4.5-Air", False),
    ("Qwen3", "Qwen3.5-397B", False),
    ("Qwen3-8B", "Qwen3-80B", False),
    ("gpt-4", "gpt-4o", False),
    ("DeepSeek-V3", "deepseek-ai/DeepSeek-V3.1", False),
    ("DeepSeek-R1", "DeepSeek-R1-Distill-Llama-70B", False),
    ("mixtral-8x7b", "mixtral-8x22b", False),
    ("Qwen3-30B", "Qwen3-Coder-30B", False),
    # One name says less than the other.
    ("Qwen3.5", "Qwen3.5-397B-A17B", None),
    ("Kimi-K2", "moonshotai/Kimi-K2-Thinking", None),
    ("DeepSeek-R1", "DeepSeek-R1-0528", None),
    ("NVFP4", "Qwen3-8B", None),
    # A name without a number tells nothing.
    ("SmolLM2-135M", "model", None),
    ("Qwen3.5-397B", "default", None),
    ("mistral-large", "Mistral-Large-Instruct", True),
]
GPUS = [
    ("rtx-pro-6000-blackwell-ws", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", True),
    ("RTX 5090", "NVIDIA GeForce RTX 5090", True),
    ("4x RTX5090", "NVIDIA GeForce RTX 5090", True),
    ("h200", "NVIDIA H200", True),
    ("MI300X", "AMD Instinct MI300X", True),
    ("A100-SXM4", "NVIDIA A100-SXM4-80GB", None),
    ("rtx-pro-6000-blackwell-ws", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", False),
    ("rtx-pro-6000-blackwell-ws", "NVIDIA RTX PRO 6000 Blackwell Server Edition", False),
    ("RTX 5090", "NVIDIA GeForce RTX 5090 D", False),
    ("RTX 5090", "NVIDIA GeForce RTX 5090 Laptop GPU", False),
    ("RTX 4070", "NVIDIA GeForce RTX 4070 Ti", False),
    ("RTX 4080", "NVIDIA GeForce RTX 4080 SUPER", False),
    ("RTX 6000", "NVIDIA RTX 6000 Ada Generation", False),
    ("RTX 6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", False),
    ("L40", "NVIDIA L40S", False),
    ("A10", "NVIDIA A10G", False),
    ("H200", "NVIDIA GH200 120GB", False),
    ("A100 40GB SXM4", "NVIDIA A100-SXM4-80GB", False),
    ("H100 SXM5", "NVIDIA H100 PCIe", False),
    ("RTX 4090", "NVIDIA GeForce RTX 5090 and NVIDIA GeForce RTX 3090", False),
    # The edition is not stated, or which card of the machine was used is not told.
    ("rtx-pro-6000-blackwell", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", None),
    ("H100", "NVIDIA H100 PCIe", None),
    ("RTX 5090", "NVIDIA GeForce RTX 5090 and NVIDIA GeForce RTX 3090", None),
    ("GPU", "NVIDIA H200", None),
]
FORMATS = [
    ("NVFP4", "modelopt_fp4", True),
    ("Q4_K_M", "Q4_K - Medium", True),
    ("BF16", "bfloat16", True),
    ("fp16", "half", True),
    ("FP8", "fp8_e4m3", True),
    ("AWQ", "awq_marlin", True),
    ("4-bit", "int4", True),
    ("FP8", "modelopt_fp4", False),
    ("MXFP4", "nvfp4", False),
    ("BF16", "fp8", False),
    ("Q4_0", "Q4_1", False),
    ("NVFP4", "compressed-tensors", None),
    ("FP8", "modelopt", None),
    ("FP4", "nvfp4", None),
    ("INT4", "awq_marlin", None),
    ("Q4", "Q4_1", None),
    ("bf16", "auto", None),
]
VERSIONS = [
    ("0.17", "0.17.1", True),
    ("0.5.8", "v0.5.8.post1", True),
    ("main", "Main", True),
    ("1.0", "0.1", False),
    ("0.1", "0.17.1", False),
    ("0.17.1", "0.17.2", False),
    ("nightly", "0.17.1", None),
]
METHODS = [
    ("ngram", "ngram-simple", True),
    ("n-gram", "NGRAM", True),
    ("mtp", "deepseek_mtp", True),
    ("nextn", "mtp", True),
    ("draft", "draft_model", True),
    ("draft", "STANDALONE", True),
    ("eagle", "eagle3", False),
    ("mtp", "eagle3", False),
    ("mtp", "ngram", False),
    ("ngram-mod", "ngram-simple", False),
    ("mtp", "EAGLE", None),
]


@pytest.mark.parametrize(
    ("rule", "stated", "observed", "same"),
    [
        *((same_model, *row) for row in MODELS),
        *((same_gpu, *row) for row in GPUS),
        *((same_format, *row) for row in FORMATS),
        *((same_version, *row) for row in VERSIONS),
        *((same_method, *row) for row in METHODS),
        (same_words, "FlashInfer", "flashinfer cutlass", True),
        (same_words, "marlin", "cutlass", False),
        (same_words, "-", "cutlass", None),
    ],
)
def test_names(rule: Any, stated: str, observed: str, same: bool | None) -> None:
    assert rule(stated, observed) is same
    assert rule(observed, stated) is same or " and " in observed


CLAIM = """\
schema: 1
id: recorded
title: a claim
hardware: {gpu: RTX 5090, count: 4}
model: {id: SmolLM2-135M-Instruct, quantisation: Q4_1}
engine: {name: llama.cpp, version: "2026.10"}
speculation: {method: ngram, draft_tokens: 8}
reported: {value: 130}
workload: {prompt_tokens: 39, output_tokens: 96, sampling: {temperature: 0}}
"""
FACTS = {
    "gpu": known("NVIDIA GeForce RTX 5090", "GET /server_info"),
    "gpu_count": known(4, "GET /server_info"),
    "model": known("smol", "GET /v1/models"),
    "model_path": known("SmolLM2-135M-Instruct.Q4_1.gguf", "GET /props"),
    "quantisation": known("Q4_1", "GET /props"),
    "version": known("2026.10.11549", "launch"),
    "speculation": known(True, "GET /slots"),
    "speculation_method": known("ngram-simple", "GET /slots"),
    "draft_tokens": known(8, "launch"),
}
ROUND = ((recording("llamacpp", "ngram/chat_stream_tpt"),),)


def rows(claim: str = CLAIM, kind: str = "llamacpp", **facts: Fact) -> dict[str, Comparison]:
    case: Case = parse_claim(claim, "claim.yaml").case(None)
    cells = Cells(subject=ROUND)
    plan = plan_of(cells, claim)
    server = ServerFacts(
        key="subject", url="http://x", kind=kind, kind_reason="GET /props", model="smol", facts={**FACTS, **facts}
    )
    found = compare(case, server, plan, plan.subject, account(cells).ledger.cells[0])
    return {row.field: row for row in found}


def test_the_same_thing_is_equal_in_everything_stated() -> None:
    found = rows()
    assert differing(found.values()) == []
    assert unobserved(found.values()) == []
    stated = [row for row in found.values() if row.stated is not None]
    assert len(stated) == 12
    assert {row.match for row in stated} == {Match.EQUAL}
    assert found["model"].observed == "SmolLM2-135M-Instruct.Q4_1.gguf (served as smol)"
    assert found["answer tokens"].source == "mean of the measured exchanges"


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("GPU", {"gpu": known("NVIDIA GeForce RTX 5090 D", "x")}),
        ("number of GPUs", {"gpu_count": known(3, "x")}),
        ("model", {"model_path": known("Qwen3-8B.gguf", "x")}),
        ("quantisation", {"quantisation": known("Q8_0", "x")}),
        ("speculation", {"speculation": known(False, "x")}),
        ("speculation method", {"speculation_method": known("draft-simple", "x")}),
        ("draft tokens (k)", {"draft_tokens": known(4, "x")}),
    ],
)
def test_one_field_that_differs_is_named(field: str, facts: dict[str, Fact]) -> None:
    found = rows(**facts)
    assert [row.field for row in differing(found.values())] == [field]


@pytest.mark.parametrize("name", ["gpu", "gpu_count", "quantisation", "speculation_method", "draft_tokens"])
def test_one_field_that_was_not_observed_is_unknown_with_its_reason(name: str) -> None:
    found = rows(**{name: unknown("nobody tells")})
    (row,) = unobserved(found.values())
    assert (row.match, row.reason, row.observed) == (Match.UNKNOWN, "nobody tells", None)


def test_a_served_name_does_not_stand_for_the_weights() -> None:
    row = rows(model=known("SmolLM2-135M-Instruct", "x"), model_path=known("Qwen3-8B.gguf", "x"))["model"]
    assert row.match is Match.UNKNOWN
    assert row.observed == "Qwen3-8B.gguf (served as SmolLM2-135M-Instruct)"
    row = rows(model=known("SmolLM2-135M-Instruct", "x"), model_path=unknown("not told"))["model"]
    assert (row.match, row.observed) == (Match.EQUAL, "SmolLM2-135M-Instruct")
    row = rows(model=unknown("x"), model_path=unknown("not told"))["model"]
    assert (row.match, row.reason) == (Match.UNKNOWN, "x")


@pytest.mark.parametrize(
    ("engine", "kind", "match", "words"),
    [
        ("{name: llama.cpp}", "llamacpp", Match.EQUAL, None),
        ("{name: SGLang or vLLM}", "vllm", Match.EQUAL, None),
        ("{name: vLLM}", "sglang", Match.DIFFERS, None),
        ("{name: vLLM}", "generic", Match.UNKNOWN, "the server does not say what it is"),
        ("{name: vLLM, fork: {name: a fork}}", "vllm", Match.UNKNOWN, "cannot be seen from outside"),
        ("{name: vLLM, fork: {name: a fork}}", "sglang", Match.DIFFERS, None),
        ("{name: MyEngine}", "vllm", Match.UNKNOWN, "which kind of server MyEngine is, is not known here"),
        ("{}", "vllm", Match.UNSTATED, None),
    ],
)
def test_engines(engine: str, kind: str, match: Match, words: str | None) -> None:
    row = rows(CLAIM.replace('{name: llama.cpp, version: "2026.10"}', engine), kind)["engine"]
    assert row.match is match
    assert (words or "") in (row.reason or "")


@pytest.mark.parametrize(
    ("workload", "field", "match", "weight"),
    [
        ("{prompt_tokens: 103}", "prompt tokens", Match.EQUAL, "decisive"),
        ("{prompt_tokens: 104}", "prompt tokens", Match.DIFFERS, "decisive"),
        ("{prompt_tokens: 4000}", "prompt tokens", Match.DIFFERS, "decisive"),
        ("{output_tokens: 100}", "answer tokens", Match.EQUAL, "decisive"),
        ("{output_tokens: 107}", "answer tokens", Match.DIFFERS, "decisive"),
        ("{output_tokens: 88}", "answer tokens", Match.EQUAL, "decisive"),
        ("{output_tokens: 1000}", "answer tokens", Match.DIFFERS, "decisive"),
        ("{concurrency: 2}", "streams", Match.DIFFERS, "decisive"),
        ("{concurrency: 1}", "streams", Match.EQUAL, "decisive"),
        ("{}", "streams", Match.UNSTATED, "minor"),
        ("{}", "answer tokens", Match.UNSTATED, "minor"),
        ("{sampling: {temperature: 1}}", "temperature", Match.DIFFERS, "minor"),
    ],
)
def test_loads(workload: str, field: str, match: Match, weight: str) -> None:
    claim = CLAIM.replace("{prompt_tokens: 39, output_tokens: 96, sampling: {temperature: 0}}", workload)
    row = rows(claim)[field]
    assert (row.match, row.weight) == (match, weight)


def test_without_speculation_on_both_sides_its_width_is_no_question() -> None:
    off = {"speculation": known(False, "x"), "speculation_method": known("none", "x"), "draft_tokens": known(0, "x")}
    found = rows(CLAIM.replace("{method: ngram, draft_tokens: 8}", "{method: none}"), **off)
    assert found["speculation"].match is Match.EQUAL
    assert not {"speculation method", "draft tokens (k)"} & set(found)
    on = rows(CLAIM.replace("{method: ngram, draft_tokens: 8}", "{method: none}"))
    assert [row.field for row in differing(on.values())] == ["speculation"]


def test_what_the_claim_leaves_open_is_unstated() -> None:
    found = rows("schema: 1\nid: recorded\ntitle: a claim\nreported: {value: 130}\n")
    assert differing(found.values()) == []
    assert {row.field for row in unobserved(found.values())} >= {
        "GPU",
        "model",
        "quantisation",
        "engine",
        "speculation",
    }
    assert "tensor parallel" not in {row.field for row in unobserved(found.values())}
