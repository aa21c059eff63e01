"""The tables of models, number formats and measurements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.reference.formats import all_formats, find_formats, least_format
from auditor.reference.measured import acceptances, all_reduces, dram_energy
from auditor.reference.models import all_models, find_checkpoint, find_model, suggest_models


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nvidia/Qwen3.5-397B-A17B-NVFP4", "qwen3.5-397b-a17b"),
        ("Qwen3.5-397B", "qwen3.5-397b-a17b"),
        ("kimi-k2-thinking", "kimi-k2"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"),
        ("GLM-5.2", "glm-5"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b"),
        ("Qwen3-30B-A3B-Q4_K_M.gguf", "qwen3-30b-a3b"),
        ("GLM-5.1-REAP", None),  # pruned
        ("DeepSeek-R1-Distill-Llama-70B", None),
        ("qwen3.5-397", None),
        ("", None),
    ],
)
def test_a_name_finds_its_model_and_no_changed_one(text, found):
    model = find_model(text)
    assert (model.id if model else None) == found


def test_every_model_has_sources_and_says_its_gaps():
    for model in all_models():
        assert model.sources, model.id
        assert model.architecture is not None or model.gaps, model.id
        assert find_model(model.id) is model
    assert suggest_models("qwen3.5-397")[0] == "qwen3.5-397b-a17b"


def test_a_repository_finds_its_layout():
    model = find_model("qwen3.5-397b-a17b")
    found = find_checkpoint(model, "nvidia/Qwen3.5-397B-A17B-NVFP4")
    assert found.formats == {"routed": "nvfp4"}
    assert "mtp" in found.unquantised
    assert found.kv_cache == "fp8"
    assert find_checkpoint(model, "somebody/Qwen3.5-397B-A17B-NVFP4") is None
    assert find_checkpoint(find_model("qwen3.5-122b-a10b"), "nvidia/Qwen3.5-122B-A10B-NVFP4").id == "nvfp4_published"
    assert find_checkpoint(find_model("qwen3.5-122b-a10b"), "nvidia/Qwen3.5-122B-A10B-FP8") is None


def test_bits_are_those_of_the_blocks():
    for row in all_formats().values():
        if row.ggml:
            _, weights, size = row.ggml
            assert row.bits == size * 8 / weights, row.id
    assert all_formats()["nvfp4"].bits == 4 + 8 / 16
    assert all_formats()["mxfp4"].bits == 4 + 8 / 32
    assert least_format().bits == 1.125


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("NVFP4", {"nvfp4"}),
        ("AWQ INT4", {"int4_g128"}),
        ("4-bit", {"int4_g128"}),
        ("Q4_K_M", {"q4_k"}),
        ("NVFP4 FFN + FP8 attn", {"nvfp4", "fp8"}),
        ("UD-Q4_K_XL", set()),
        ("IQ3_KS", set()),
    ],
)
def test_a_text_names_its_formats(text, ids):
    assert {row.id for row in find_formats(text)} == ids


@given(st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_the_floor_of_an_all_reduce_never_falls_with_the_payload(one, other):
    low, high = sorted((one, other))
    for gpus in (4, 8):
        for row in all_reduces(gpus):
            assert row.floor_us(low) <= row.floor_us(high)


def test_measurements_are_those_of_the_material():
    one_shot, nccl = all_reduces(4)
    assert (one_shot.floor_us(8192), nccl.floor_us(8192)) == (6.4, 13.9)
    assert nccl.floor_us(65536) == 24.7  # 71.2 at 64 KB is above 24.7 at 128 KB
    assert all_reduces(3) == ()
    assert acceptances("qwen3.5-397b-a17b")[0].length_by_k[2] == 2.73
    assert dram_energy("GDDR7 ECC").pj_per_bit == (5.0, 6.25)
    assert dram_energy("LPDDR5x unified") is None
