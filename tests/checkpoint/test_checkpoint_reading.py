"""What is read from the files of a checkpoint, worked out by hand and beside the study's figures."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_checkpoints import HYBRID, HYBRID_QUANT, bf16, gguf, hybrid_tensors, write

from auditor.capture.gguf import find_gguf
from auditor.core.checkpoint.gguf import TornError, parse_gguf
from auditor.core.checkpoint.quant import matches
from auditor.core.checkpoint.tensors import parse_header, parse_index, place_of
from auditor.core.physics.parts import params_of
from auditor.errors import UsageError
from auditor.reference.models import Architecture, find_model
from auditor.review.checkpoint import read_checkpoint

EXPERT = 3 * 64 * 32
"""Weights of one routed expert."""
ATTENTION = 256 * 64 + 2 * 64 * 64 + 64 * 128
LINEAR = 192 * 64 + 8 * 64 + 64 * 64 + 128 * 4


def parts(view):
    return {part.part: part for part in view.parts}


def test_sizes_come_from_the_headers(tmp_path):
    found = read_checkpoint(write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors()))
    view, layout = found.view, found.figures.layouts[0]
    held = parts(view)
    # A byte holds two weights, 16 weights share a byte of scale, and a matrix has two FP32 scales.
    expert = EXPERT / 2 + EXPERT / 16 + 3 * 8
    assert layout.expert_bytes == expert
    assert held["routed"].stored_bytes == 4 * 8 * expert
    assert held["routed"].token_bytes == 4 * 2 * expert
    assert held["routed"].formats == {"NVFP4": 96}
    assert held["attn"].stored_bytes == 2 * ATTENTION
    assert held["gdn"].stored_bytes == 2 * 3 * LINEAR
    assert held["router"].stored_bytes == 2 * 4 * 8 * 64
    assert held["lm_head"].stored_bytes == 2 * 64_000
    assert held["embed"].token_bytes == 0
    fixed = 2 * (ATTENTION + 3 * LINEAR + 4 * 512 + 4 * EXPERT + 64_000)
    assert view.token_bytes == pytest.approx(fixed + 4 * 2 * expert)
    assert view.stored_bytes == pytest.approx(fixed + 4 * 8 * expert + 128_000)
    assert view.beside_bytes == 2 * (4 * 64 + 64 + 48 * 16)
    assert view.notes == ()
    assert found.figures.is_exact


def test_whether_mtp_is_in_the_quant(tmp_path):
    view = read_checkpoint(write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())).view
    assert view.mtp.sentence == "in the checkpoint: 35 tensors, BF16, not in the quantisation"
    assert {one.dtype for one in view.mtp.tensors} == {"BF16"}
    assert "mtp.layers.0.self_attn.q_proj.weight" in {one.name for one in view.mtp.tensors}
    norms = 64 + 64
    head = ATTENTION + 512 + EXPERT + 64 * 128 + 8 * EXPERT
    assert view.mtp.stored_bytes == 2 * (head + norms)
    assert view.mtp.draft_step_bytes == 2 * (ATTENTION + 512 + EXPERT + 64 * 128 + norms + 2 * EXPERT + 64_000)
    assert "attention: all in BF16" in view.unquantised
    assert "mtp: all in BF16" in view.unquantised
    assert not any("routed" in words for words in view.unquantised)
    assert view.kv_declared == "FP8"
    assert "mtp.*" in view.left_out


def test_a_head_that_the_configuration_names_and_no_file_holds(tmp_path):
    tensors = {name: one for name, one in hybrid_tensors().items() if not name.startswith("mtp.")}
    found = read_checkpoint(write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=tensors))
    assert "no tensor of one is in the checkpoint: it cannot draft" in found.view.mtp.sentence
    assert found.figures.layouts[0].draft_fixed_bytes == 0


def test_an_index_alone_tells_what_is_quantised(tmp_path):
    exact = read_checkpoint(write(tmp_path / "exact", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())).view
    view = read_checkpoint(
        write(tmp_path / "index", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors(), only_index=True)
    ).view
    assert view.files == ("config.json", "hf_quant_config.json", "model.safetensors.index.json")
    assert {part.part: part.formats for part in view.parts} == {part.part: part.formats for part in exact.parts}
    # Only the two FP32 scales of each matrix are not in the bits of the format.
    assert exact.token_bytes - view.token_bytes == 4 * 2 * 3 * 8
    assert view.mtp.sentence == exact.mtp.sentence
    assert {one.dtype for one in view.mtp.tensors} == {None}
    assert any("an index has no types" in note for note in view.notes)


def test_the_declaration_alone_says_that_it_is_one(tmp_path):
    exact = read_checkpoint(write(tmp_path / "exact", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())).view
    view = read_checkpoint(write(tmp_path / "config", HYBRID, quant=HYBRID_QUANT)).view
    assert exact.token_bytes - view.token_bytes == pytest.approx(4 * 2 * 3 * 8)
    assert "the files were not read, so it may be missing" in view.mtp.sentence
    assert view.mtp.formats == {"BF16": 1}
    assert any("as the configuration declares" in note for note in view.notes)


def test_files_that_do_not_add_up_are_remarked(tmp_path):
    tensors = {name: one for name, one in hybrid_tensors().items() if ".experts.7." not in name}
    view = read_checkpoint(write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=tensors)).view
    assert any("files are missing" in note for note in view.notes)
    without = {name: one for name, one in hybrid_tensors().items() if "linear_attn" not in name}
    view = read_checkpoint(write(tmp_path / "other", HYBRID, quant=HYBRID_QUANT, tensors=without)).view
    assert any("no tensor was recognised as linear attention" in note for note in view.notes)


PUBLISHED = [
    # Model, what its configuration declares, GB a token as the study has it.
    ("qwen3.5-397b-a17b", None, {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
      "exclude_modules": ["lm_head", "model.language_model.layers.*.self_attn*", "model.language_model.layers.*.linear_attn*",
                          "model.language_model.layers.*.mlp.shared_expert*", "model.language_model.layers.*.mlp.gate", "mtp.*",
                          "model.visual*"]}}, 21.81),
    ("glm-5", None, {"quantization": {"quant_algo": "NVFP4", "group_size": 16,
      "exclude_modules": ["lm_head", "model.layers.*.self_attn*", "*.mlp.gate", "model.layers.78*"]}}, 44.06),
    ("qwen3-235b-a22b", None, {"quantization": {"quant_algo": "NVFP4", "group_size": 16,
      "exclude_modules": ["lm_head", *[f"model.layers.{n}.mlp.gate" for n in range(94)]]}}, 13.10),
    ("kimi-k2", {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
      "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*mlp\\.gate$"],
      "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}, None, 32.98),
    ("gpt-oss-120b", {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
      "model.embed_tokens", "lm_head"]}, None, 5.00),
    ("llama-3.3-70b", {"quant_method": "awq", "bits": 4, "group_size": 128}, None, 37.40),
    ("deepseek-v3", {"quant_method": "fp8", "weight_block_size": [128, 128]}, None, 37.66),
    ("llama-3.1-8b", None, None, 15.01),
]  # fmt: skip


def _config(model: str) -> dict:
    """A configuration with the usual names, of an architecture of the table."""
    arch = find_model(model).architecture
    names = {
        "hidden_size": arch.hidden, "num_hidden_layers": arch.layers, "num_attention_heads": arch.heads,
        "vocab_size": arch.vocab, "num_key_value_heads": arch.kv_heads, "head_dim": arch.head_dim,
        "attn_output_gate": arch.gate, "q_lora_rank": arch.q_lora, "kv_lora_rank": arch.kv_lora,
        "qk_nope_head_dim": arch.nope, "qk_rope_head_dim": arch.rope, "v_head_dim": arch.value_dim,
        "n_routed_experts": arch.experts, "num_experts_per_tok": arch.top_k, "moe_intermediate_size": arch.expert_inter,
        "shared_expert_intermediate_size": arch.shared_inter, "first_k_dense_replace": arch.dense_layers,
        "intermediate_size": arch.dense_inter, "num_nextn_predict_layers": arch.mtp_layers,
        "index_topk": arch.sparse_top_k,
    }  # fmt: skip
    if arch.indexer:
        names |= {"index_n_heads": arch.indexer.heads, "index_head_dim": arch.indexer.dim}
    if arch.linear:
        kinds = ["linear_attention"] * arch.linear.layers + ["full_attention"] * (arch.layers - arch.linear.layers)
        names |= {
            "layer_types": kinds, "linear_num_key_heads": arch.linear.key_heads,
            "linear_key_head_dim": arch.linear.key_dim, "linear_num_value_heads": arch.linear.value_heads,
            "linear_value_head_dim": arch.linear.value_dim, "linear_conv_kernel_dim": arch.linear.conv,
        }  # fmt: skip
    return {name: value for name, value in names.items() if value is not None}


@pytest.mark.parametrize(("model", "in_config", "quant", "gigabytes"), PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_published_layouts_from_their_declarations(tmp_path, model, in_config, quant, gigabytes):
    config = _config(model) | ({"quantization_config": in_config} if in_config else {})
    found = read_checkpoint(write(tmp_path / "made", config, quant=quant))
    assert found.view.token_bytes / 1e9 == pytest.approx(gigabytes, abs=0.005)
    arch = find_model(model).architecture
    assert params_of(found.figures.architecture) == params_of(arch)


def test_lm_head_that_is_the_embedding_table_counts_once(tmp_path):
    config = {
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 500,
    }
    tensors = bf16("model.embed_tokens", 500, 64)
    for name, shape in (("q_proj", (64, 64)), ("k_proj", (64, 64)), ("v_proj", (64, 64)), ("o_proj", (64, 64))):
        tensors |= bf16(f"model.layers.0.self_attn.{name}", *shape)
    for name, shape in (("gate_proj", (128, 64)), ("up_proj", (128, 64)), ("down_proj", (64, 128))):
        tensors |= bf16(f"model.layers.0.mlp.{name}", *shape)
    view = read_checkpoint(write(tmp_path / "made", config, tensors=tensors)).view
    assert view.total_params == 500 * 64 + 4 * 64 * 64 + 3 * 64 * 128
    assert view.token_bytes == view.stored_bytes == 2 * view.total_params
    assert view.notes == ()
    assert view.mtp.sentence == "none"
    assert view.quantisation == "none is declared"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("model.layers.3.self_attn.q_proj.weight", "attn"),
        ("model.layers.3.self_attn.q_norm.weight", "other"),
        ("model.layers.3.self_attn.indexer.wq_b.weight", "indexer"),
        ("model.language_model.layers.0.linear_attn.in_proj_qkv.weight", "gdn"),
        ("model.layers.3.mlp.experts.17.down_proj.weight_scale", "routed"),
        ("model.layers.3.mlp.experts.gate_up_proj_blocks", "routed"),
        ("model.layers.3.block_sparse_moe.experts.1.w2.weight", "routed"),
        ("model.layers.3.block_sparse_moe.gate.weight", "router"),
        ("model.layers.3.mlp.router.weight", "router"),
        ("model.layers.3.mlp.gate.e_score_correction_bias", "router"),
        ("model.layers.3.mlp.gate_proj.weight", "dense_mlp"),
        ("model.layers.3.mlp.shared_expert_gate.weight", "shared"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "shared"),
        ("layers.3.ffn.experts.2.w1.weight", "routed"),
        ("layers.3.attn.wq_a.weight", "attn"),
        ("model.layers.61.eh_proj.weight", "mtp"),
        ("model.layers.61.mlp.experts.0.up_proj.weight", "mtp"),
        ("mtp.layers.0.mlp.experts.3.gate_proj.weight", "mtp"),
        ("vision_model.encoder.layers.70.mlp.fc1.weight", "vision"),
        ("model.embed_tokens.weight", "embed"),
        ("lm_head.weight", "lm_head"),
        ("blk.3.ffn_gate_exps.weight", "routed"),
        ("blk.3.ffn_gate_inp.weight", "router"),
        ("blk.3.ffn_down.weight", "dense_mlp"),
        ("token_embd.weight", "embed"),
        ("output.weight", "lm_head"),
        ("output_norm.weight", "other"),
    ],
)
def test_tensors_find_their_part(name, place):
    assert place_of(name, 61) == place


@pytest.mark.parametrize(
    ("pattern", "module", "found"),
    [
        ("lm_head", "lm_head", True),
        ("mtp.*", "mtp.layers.0.self_attn.q_proj", True),
        ("*self_attn*", "model.layers.0.self_attn.q_proj", True),
        ("model.layers.0.mlp.gate", "model.layers.0.mlp.gate", True),
        ("model.layers.0.mlp.gate", "model.layers.0.mlp.gate_proj", False),
        ("self_attn", "model.layers.0.self_attn.q_proj", True),
        ("re:.*mlp\\.gate$", "model.layers.0.mlp.gate", True),
        ("re:.*mlp\\.gate$", "model.layers.0.mlp.gate_proj", False),
        ("re:(", "anything", False),
        ("re:(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", False),  # would take for ever
    ],
)
def test_exclusions_match_as_engines_read_them(pattern, module, found):
    assert matches(pattern, module) is found


def test_a_real_gguf_file():
    path = find_gguf()
    found = read_checkpoint(path)
    view = found.view
    assert view.total_params == 134_479_872
    assert parts(view)["lm_head"].formats == {"Q8_0": 1}
    assert parts(view)["attn"].formats == {"Q4_1": 120}
    assert parts(view)["dense_mlp"].stored_bytes == pytest.approx(79_626_240 * 20 / 32)
    assert view.architecture["tied"] is True
    # All tensors together fill the file but for its head.
    assert 0.95 * path.stat().st_size < view.stored_bytes + view.beside_bytes < path.stat().st_size


def test_experts_of_a_gguf_file(tmp_path):
    meta = {
        "general.architecture": "qwen3moe", "qwen3moe.block_count": 2, "qwen3moe.embedding_length": 256,
        "qwen3moe.attention.head_count": 4, "qwen3moe.attention.head_count_kv": 2, "qwen3moe.expert_count": 8,
        "qwen3moe.expert_used_count": 2, "qwen3moe.expert_feed_forward_length": 256,
        "tokenizer.ggml.tokens": ["a", "b"],
    }  # fmt: skip
    tensors = {"token_embd.weight": ((256, 500), 12), "output.weight": ((256, 500), 14)}
    for layer in range(2):
        tensors |= {f"blk.{layer}.attn_{word}.weight": ((256, 256 if word in ("q", "output") else 128), 12)
                    for word in ("q", "k", "v", "output")}  # fmt: skip
        tensors |= {f"blk.{layer}.ffn_{word}_exps.weight": ((256, 256, 8), 12) for word in ("gate", "up", "down")}
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = ((256, 8), 0)
    path = tmp_path / "made.gguf"
    path.write_bytes(gguf(meta, tensors))
    view = read_checkpoint(path).view
    held = parts(view)
    assert held["routed"].formats == {"Q4_K": 6}
    assert held["routed"].stored_bytes == 2 * 8 * 3 * 256 * 256 * 144 / 256
    assert held["routed"].token_bytes == held["routed"].stored_bytes / 4
    assert held["lm_head"].stored_bytes == 256 * 500 * 210 / 256
    assert view.notes == ()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has no config.json"),
        ({"config.json": b"{"}, "not JSON"),
        ({"config.json": b"[1]"}, "not a JSON object"),
        ({"config.json": b"{}"}, "has no num_hidden_layers"),
        ({"config.json": b'{"num_hidden_layers": "four"}'}, "num_hidden_layers is four"),
        ({"config.json": b'{"num_hidden_layers": -4}'}, "num_hidden_layers is -4"),
        ({"config.json": b'{"num_hidden_layers": [4, 4]}'}, "num_hidden_layers is [4, 4]"),
        ({"config.json": json.dumps({**HYBRID["text_config"], "layer_types": ["mamba"] * 4}).encode()}, "layers of kind mamba"),
        ({"config.json": json.dumps(HYBRID).encode(), "hf_quant_config.json": b"no"}, "hf_quant_config.json: not JSON"),
        ({"config.json": json.dumps(HYBRID).encode(), "model.safetensors": b""}, "not a safetensors file"),
        ({"config.json": json.dumps(HYBRID).encode(), "model.safetensors": b"\xff" * 8}, "not a safetensors file"),
        ({"config.json": json.dumps(HYBRID).encode(), "model.safetensors": b"\x09\0\0\0\0\0\0\0{}"}, "ends within its header"),
        ({"config.json": json.dumps(HYBRID).encode(), "model.safetensors": b'\x07\0\0\0\0\0\0\0{"a":1}'}, "does not describe a"),
        ({"config.json": json.dumps(HYBRID).encode(), "model.safetensors.index.json": b'{"weight_map": {"a": [1]}}'}, "weight_map"),
    ],
)  # fmt: skip
def test_a_bad_folder_is_one_line(tmp_path, files, words):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_checkpoint(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GGUF", "ends within its head"),
        (b"not one", "not a GGUF file"),
        (gguf({}, {}, version=1), "version 1 cannot be read"),
        (gguf({"general.architecture": "llama"}, {}), "has no llama.block_count"),
        (gguf({"general.architecture": "mamba", "mamba.ssm.state_size": 16}, {}), "with ssm cannot be read"),
        (gguf({}, {"a": ((4,), 999)}), "GGUF type 999"),
    ],
)
def test_a_bad_gguf_file_is_one_line(tmp_path, data, words):
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_checkpoint(path)
    assert words in str(caught.value)


@given(st.binary(max_size=300), st.booleans())
def test_noise_is_refused_and_never_a_traceback(data, as_gguf):
    with suppress(UsageError, TornError):
        parse_gguf((b"GGUF" + data) if as_gguf else data, "noise")
    for parse in (parse_header, parse_index):
        with pytest.raises(UsageError):
            parse(data + b"!", "noise")


@given(st.integers(0, 2000))
def test_a_head_cut_anywhere_is_torn(cut):
    whole = gguf({"general.architecture": "llama", "llama.block_count": 3, "t": ["x"] * 9}, {"a.weight": ((32, 2), 2)})
    if cut >= len(whole):
        assert parse_gguf(whole, "whole").tensors[0].bytes == 2 * 18
    else:
        with pytest.raises((TornError, UsageError)):
            parse_gguf(whole[:cut], "cut")


def test_the_architectures_of_the_table_survive_a_configuration(tmp_path):
    for model in ("qwen3.5-397b-a17b", "glm-5", "kimi-k2", "minimax-m2", "qwen3-8b"):
        found = read_checkpoint(write(tmp_path / model, _config(model)))
        expected: Architecture = find_model(model).architecture
        assert params_of(found.figures.architecture) == params_of(expected), model


def test_an_unfinished_download_is_read_from_its_index(tmp_path):
    folder = write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())
    min(Path(folder).glob("*.safetensors")).unlink()
    assert read_checkpoint(folder).view.files[-1] == "model.safetensors.index.json"
