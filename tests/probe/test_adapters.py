"""What the adapters read out of recorded answers, and out of shapes written after WIRE.md where none was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from auditor.core.facts import FactName
from auditor.core.observed import FACT_NAMES, complete, public_path
from auditor.core.probing import Answer, Answers
from auditor.core.wire.prometheus import samples
from auditor.servers import load_adapters

ADAPTERS = load_adapters()
SERVER_INFO = "/server_info?config_format=json"


def good(path: str, body: Any) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(path=path, status=200, body=data)


def missing(path: str, status: int = 404) -> Answer:
    return Answer(path=path, status=status, body=b'{"detail":"Not Found"}')


def llamacpp(data: Path, mode: str, *, used: bool) -> Answers:
    folder = data / "llamacpp" / mode
    return Answers().with_(
        good("/v1/models", (folder / "v1_models.json").read_bytes()),
        good("/props", (folder / "props.json").read_bytes()),
        good("/slots", (folder / ("slots_after.json" if used else "slots.json")).read_bytes()),
        good("/metrics", (folder / ("metrics_after.txt" if used else "metrics_before.txt")).read_bytes()),
    )


def vllm_models(**more: object) -> Answer:
    card = {"id": "smol", "object": "model", "owned_by": "vllm", "root": "/models/smol", "parent": None}
    return good("/v1/models", {"object": "list", "data": [{**card, "max_model_len": 2048, **more}]})


def value(kind: str, answers: Answers, name: FactName, launched: dict[str, Any] | None = None) -> object:
    return complete(ADAPTERS[kind].facts(answers, launched or {}), "not told")[name].value


def reason(kind: str, answers: Answers, name: FactName) -> str:
    fact = complete(ADAPTERS[kind].facts(answers, {}), "not told")[name]
    assert fact.value is None
    assert fact.reason
    return fact.reason


@pytest.mark.parametrize("kind", list(ADAPTERS))
def test_every_fact_has_a_value_with_a_source_or_a_reason(kind: str) -> None:
    for answers in (Answers(), Answers().with_(*(missing(path) for path in ADAPTERS[kind].paths))):
        facts = complete(ADAPTERS[kind].facts(answers, {}), "not told")
        assert set(facts) == set(FACT_NAMES)
        for name, fact in facts.items():
            assert fact.value is None, name
            assert fact.reason, name


def test_each_kind_knows_its_own_and_no_other(data: Path) -> None:
    answers = {
        "llamacpp": llamacpp(data, "plain", used=False),
        "vllm": Answers().with_(
            vllm_models(), good("/metrics", (data / "vllm-0.32-cpu" / "plain_idle.metrics.txt").read_bytes())
        ),
        "sglang": Answers().with_(good("/server_info", SGLANG)),
    }
    for kind, of_kind in answers.items():
        signs = [name for name, adapter in ADAPTERS.items() if name != "generic" and adapter.recognise(of_kind)]
        assert signs == [kind]


# llama.cpp


@pytest.mark.parametrize("mode", ["plain", "draft", "ngram"])
def test_llamacpp_tells_model_context_and_slots(data: Path, mode: str) -> None:
    answers = llamacpp(data, mode, used=False)
    assert value("llamacpp", answers, "quantisation") == "Q4_1"
    assert value("llamacpp", answers, "context_length") == 2048
    assert value("llamacpp", answers, "streams_max") == 1
    assert value("llamacpp", answers, "model_path") == "smollm2.gguf"
    assert "built without a number" in reason("llamacpp", answers, "version")


@pytest.mark.parametrize(
    ("mode", "used", "speculation", "method", "width"),
    [
        ("plain", False, False, "none", 0),
        ("plain", True, False, "none", 0),
        ("draft", False, True, None, None),
        ("draft", True, True, "draft-simple", 4),
        ("ngram", False, True, None, None),
        ("ngram", True, True, "ngram-simple", 8),
    ],
)
def test_llamacpp_speculation_comes_from_slots_and_counters(
    data: Path, mode: str, used: bool, speculation: bool, method: str | None, width: int | None
) -> None:
    # /props says "none" in all of these.
    answers = llamacpp(data, mode, used=used)
    assert value("llamacpp", answers, "speculation") is speculation
    assert value("llamacpp", answers, "speculation_method") == method
    assert value("llamacpp", answers, "draft_tokens") == width


def test_llamacpp_without_slots_says_that_it_is_not_known(data: Path) -> None:
    fresh = llamacpp(data, "plain", used=False).with_(missing("/slots", 501))
    assert "GET /slots: HTTP 501" in reason("llamacpp", fresh, "speculation")
    used = llamacpp(data, "draft", used=True).with_(missing("/slots", 501))
    assert value("llamacpp", used, "speculation") is True
    assert value("llamacpp", used, "draft_tokens") == 4
    assert value("llamacpp", used, "speculation_method") is None


def test_what_is_known_of_the_launch_goes_first(data: Path) -> None:
    launched = {"speculation_method": "draft-simple", "draft_tokens": 2, "gguf_sha256": "ab", "xllamacpp": "1.2"}
    answers = llamacpp(data, "draft", used=True)
    assert value("llamacpp", answers, "draft_tokens", launched) == 2
    assert value("llamacpp", answers, "version", launched) == "xllamacpp 1.2"
    assert ADAPTERS["llamacpp"].facts(answers, launched)["draft_tokens"].source == "launch"


# vLLM


@pytest.mark.parametrize(
    ("recording", "speculation", "width", "cached", "dtype"),
    [
        ("vllm-0.32-cpu/plain_idle.metrics.txt", False, 0, True, "auto"),
        ("vllm-0.32-cpu/ngram_idle.metrics.txt", True, 4, True, "auto"),
        ("vllm-0.24-h200/draft.metrics.txt", True, 3, False, "auto"),
    ],
)
def test_vllm_in_production(
    data: Path, recording: str, speculation: bool, width: int, cached: bool, dtype: str
) -> None:
    answers = Answers().with_(
        vllm_models(),
        good("/version", {"version": "0.32.0"}),
        good("/metrics", (data / recording).read_bytes()),
        missing(SERVER_INFO),
    )
    assert value("vllm", answers, "version") == "0.32.0"
    assert value("vllm", answers, "context_length") == 2048
    assert value("vllm", answers, "model_path") == "smol"
    assert value("vllm", answers, "speculation") is speculation
    assert value("vllm", answers, "draft_tokens") == width
    assert value("vllm", answers, "prefix_cache") is cached
    assert value("vllm", answers, "kv_cache_dtype") == dtype
    assert "VLLM_SERVER_DEV_MODE=1" in reason("vllm", answers, "gpu")
    assert "VLLM_SERVER_DEV_MODE=1" in reason("vllm", answers, "tensor_parallel")
    assert value("vllm", answers, "speculation_method") == (None if speculation else "none")


def test_vllm_without_log_stats_is_not_a_server_without_speculation() -> None:
    answers = Answers().with_(vllm_models(), good("/metrics", b"process_start_time_seconds 1.0\n"))
    assert "--disable-log-stats" in reason("vllm", answers, "speculation")


VLLM_CONFIG = {
    "model_config": {"quantization": "modelopt_fp4", "dtype": "torch.bfloat16"},
    "scheduler_config": {"max_num_seqs": 16},
    "parallel_config": {
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 1,
        "data_parallel_size": 2,
        "enable_expert_parallel": True,
    },
    "kernel_config": {"moe_backend": "marlin"},
    "attention_config": {"backend": None},
    "speculative_config": {"method": "mtp", "num_speculative_tokens": 2, "rejection_sample_method": "synthetic"},
}


@pytest.mark.parametrize("as_text", [False, True])
def test_vllm_in_development_mode(as_text: bool) -> None:
    info = {
        "vllm_config": json.dumps(VLLM_CONFIG) if as_text else VLLM_CONFIG,
        "vllm_env": {"VLLM_API_KEY": "sk-very-secret"},
        "system_env": {
            "nvidia_gpu_models": "GPU 0: NVIDIA RTX PRO 6000\nGPU 1: NVIDIA RTX PRO 6000 (UUID: GPU-1)",
        },
    }
    answers = Answers().with_(vllm_models(), good(SERVER_INFO, info), good("/metrics", b""))
    expected: dict[FactName, object] = {
        "quantisation": "modelopt_fp4",
        "streams_max": 16,
        "tensor_parallel": 4,
        "pipeline_parallel": 1,
        "data_parallel": 2,
        "expert_parallel": 8,
        "moe_backend": "marlin",
        "speculation": True,
        "speculation_method": "mtp",
        "draft_tokens": 2,
        "acceptance_mode": "synthetic",
        "gpu": "NVIDIA RTX PRO 6000",
        "gpu_count": 8,
    }
    for name, wanted in expected.items():
        assert value("vllm", answers, name) == wanted, name
    assert "does not tell" in reason("vllm", answers, "attention_backend")
    facts = ADAPTERS["vllm"].facts(answers, {})
    assert "secret" not in str(facts)


def test_vllm_unquantised_says_the_type_of_its_weights() -> None:
    config = {**VLLM_CONFIG, "model_config": {"quantization": None, "dtype": "torch.bfloat16"}}
    answers = Answers().with_(vllm_models(), good(SERVER_INFO, {"vllm_config": config}))
    assert value("vllm", answers, "quantisation") == "bfloat16"
    assert value("vllm", answers, "gpu") is None
    assert value("vllm", answers, "gpu_count") is None


def test_vllm_of_old_answers_with_a_sentence() -> None:
    sentence = (
        "model='/srv/smol', speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=4), "
        "tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=fp8, seed=0"
    )
    answers = Answers().with_(vllm_models(), good(SERVER_INFO, {"vllm_config": sentence}))
    assert value("vllm", answers, "tensor_parallel") == 2
    assert value("vllm", answers, "quantisation") == "fp8"
    assert value("vllm", answers, "speculation_method") == "ngram"
    assert value("vllm", answers, "acceptance_mode") is None


# SGLang

SGLANG = {
    "model_path": "/home/alice/models/models--zai-org--GLM-5/snapshots/0123abcd",
    "quantization": "modelopt_fp4",
    "kv_cache_dtype": "auto",
    "context_length": None,
    "tp_size": 8,
    "pp_size": 1,
    "dp_size": 2,
    "ep_size": 1,
    "enable_dp_attention": False,
    "moe_runner_backend": "flashinfer_cutlass",
    "attention_backend": "trtllm_mha",
    "disable_radix_cache": False,
    "api_key": "sk-very-secret",
    "speculative_algorithm": "EAGLE",
    "speculative_num_steps": 2,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 3,
    "speculative_accept_threshold_single": 1.0,
    "speculative_accept_threshold_acc": 1.0,
    "internal_states": [{"effective_max_running_requests_per_dp": 64}],
    "version": "0.5.9",
}


def sglang(path: str = "/server_info", **changes: object) -> Answers:
    return Answers().with_(good(path, {**SGLANG, **changes}))


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
def test_sglang_tells_its_arguments(path: str) -> None:
    answers = sglang(path).with_(
        good("/v1/loads", {"accelerator": "NVIDIA RTX PRO 6000 Blackwell", "num_accelerators": 8}),
    )
    expected: dict[FactName, object] = {
        "version": "0.5.9",
        "model_path": "zai-org/GLM-5",
        "quantisation": "modelopt_fp4",
        "tensor_parallel": 8,
        "data_parallel": 2,
        "expert_parallel": 1,
        "moe_backend": "flashinfer_cutlass",
        "attention_backend": "trtllm_mha",
        "prefix_cache": True,
        "speculation": True,
        "speculation_method": "EAGLE",
        "draft_tokens": 2,
        "streams_max": 64,
        "gpu": "NVIDIA RTX PRO 6000 Blackwell",
        "gpu_count": 16,
    }
    for name, wanted in expected.items():
        assert value("sglang", answers, name) == wanted, name
    assert "auto" in reason("sglang", answers, "kv_cache_dtype")
    assert "SGLANG_SIMULATE_ACC_LEN would not show" in reason("sglang", answers, "acceptance_mode")
    text = str(ADAPTERS["sglang"].facts(answers, {}))
    assert "secret" not in text
    assert "alice" not in text


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"speculative_accept_threshold_acc": 0.9}, "lossy"),
        ({"env_vars": {"SGLANG_SIMULATE_ACC_LEN": "3.0"}}, "synthetic"),
        ({"env_vars": {"SGLANG_SIMULATE_ACC_LEN": "-1"}}, "standard"),
        ({"env_vars": {}}, "standard"),
    ],
)
def test_sglang_acceptance(changes: dict[str, object], mode: str) -> None:
    assert value("sglang", sglang(**changes), "acceptance_mode") == mode


def test_sglang_without_speculation() -> None:
    answers = sglang(speculative_algorithm=None, speculative_num_draft_tokens=None)
    assert value("sglang", answers, "speculation") is False
    assert value("sglang", answers, "draft_tokens") == 0


def test_sglang_attention_data_parallel_shares_the_cards() -> None:
    assert value("sglang", sglang(enable_dp_attention=True), "gpu_count") == 8


# the helpers


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("org/model", "org/model"),
        ("/home/alice/models/glm", "glm"),
        ("C:\\Users\\alice\\m.gguf", "m.gguf"),
        ("~/m/", "m"),
        ("/home/bob/.cache/huggingface/hub/models--zai-org--GLM-5/snapshots/0123", "zai-org/GLM-5"),
        (None, None),
    ],
)
def test_folders_of_the_machine_are_not_written_down(path: str | None, shown: str | None) -> None:
    assert public_path(path) == shown


def test_metrics_lines() -> None:
    text = '# HELP a b\nvllm:a{x="1",y="a\\"b,}\\\\"} 2.5e3 1700000000\nvllm:b 1\n\nother:c 3\n'
    found = list(samples(text, "vllm:"))
    assert [(sample.name, sample.value) for sample in found] == [("vllm:a", 2500.0), ("vllm:b", 1.0)]
    assert found[0].labels == {"x": "1", "y": 'a"b,}\\'}
    with pytest.raises(ValueError, match="not a metrics line"):
        list(samples("<html>\n"))


def test_damaged_metrics_are_no_counters(data: Path) -> None:
    answers = llamacpp(data, "plain", used=False).with_(good("/metrics", b"llamacpp:x{ 1 2 3 4\n"), missing("/slots"))
    assert reason("llamacpp", answers, "speculation")
