"""Bounds worked by hand, and what holds of them at every figure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.physics.bounds import Machine, compute_bound, expected_bound, hard_bound, power_bound, rate_bound
from auditor.core.physics.parts import params_of
from auditor.core.physics.step import Load, context_bytes, distinct_experts, expected_step, plain_step, state_bytes
from auditor.core.physics.weights import laid_out, smallest, uniform
from auditor.reference.formats import all_formats, least_format
from auditor.reference.models import Architecture, all_models, find_model

TINY = Architecture(
    hidden=100,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=25,
    vocab=1000,
    experts=4,
    top_k=1,
    expert_inter=50,
    mtp_layers=1,
)
BF16 = uniform(params_of(TINY), all_formats()["bf16"])
KNOWN = [model for model in all_models() if model.architecture and model.id.split("-")[-1] not in ("9b", "4b", "0.8b")]

gbs = st.floats(10, 10_000)
streams = st.integers(1, 2048)
drafts = st.integers(0, 16)


def test_a_tiny_model_by_hand():
    params = params_of(TINY)
    attention = 100 * 100 + 2 * 100 * 50 + 100 * 100  # query, keys and values, output: 30,000
    assert params.fixed["attn"] == 2 * attention
    assert params.fixed["router"] == 2 * 400
    assert params.fixed["lm_head"] == 100_000
    assert params.expert == 15_000
    assert params.total == 60_000 + 800 + 100_000 + 100_000 + 4 * 2 * 15_000
    assert params.active == 60_000 + 800 + 100_000 + 2 * 15_000
    assert BF16.token_bytes() == 2 * params.active
    assert params.draft_fixed == attention + 2 * 100 * 100 + 400 + 100_000
    assert params.head == attention + 2 * 100 * 100 + 400 + 4 * 15_000
    # 4 experts, one used a token: two tokens meet 4 (1 - (3/4)^2) = 1.75 of them.
    assert distinct_experts(4, 1, 2) == 1.75
    step = expected_step(BF16, TINY, Load(draft_tokens=1, has_head=True, context=10, kv_bytes=2))
    assert step.weights == 2 * (160_800 + 1.75 * 2 * 15_000)
    assert step.context == 2 * 2 * 25 * 2 * 10 * 2  # keys and values x heads x width x layers x tokens x bytes
    assert step.draft == 2 * (150_400 + 15_000)
    assert rate_bound(step.total, Machine(1, 1), 1, 1.5) == pytest.approx(1.5e9 / step.total)


def test_a_dense_70b_in_bf16_on_one_h200_by_hand():
    row = find_model("llama-3.3-70b")
    weights = uniform(params_of(row.architecture), all_formats()["bf16"])
    # 69.50 billion parameters a token x 2 bytes = 139.0 GB; 4,800 GB/s / 139.0 GB = 34.5 steps a second.
    bound, _ = expected_bound(weights, row.architecture, Load(), Machine(1, 4800))
    assert bound == pytest.approx(34.53, abs=0.01)
    assert compute_bound(weights.active_params, 1, 989) == pytest.approx(989e12 / (2 * 69.50e9), rel=1e-3)
    assert power_bound(139.0e9, 1, 700, 6) == pytest.approx(700 / (139.0e9 * 8 * 6e-12))  # 105 tok/s


def test_what_ranks_cannot_split_is_read_by_each():
    gqa, mla = find_model("qwen3.5-397b-a17b").architecture, find_model("kimi-k2").architecture
    assert context_bytes(gqa, 1000, 1, 1) == context_bytes(gqa, 1000, 1, 2) == 15360 * 1000  # two KV heads
    assert context_bytes(gqa, 1000, 1, 4) == 2 * 15360 * 1000
    assert context_bytes(mla, 1000, 1, 8) == 8 * 35136 * 1000


def test_windows_and_sparse_attention_read_less():
    gpt = find_model("gpt-oss-120b").architecture
    width = 2 * 8 * 64
    assert context_bytes(gpt, 100, 2) == 36 * width * 100 * 2
    assert context_bytes(gpt, 10_000, 2) == width * 2 * (18 * 10_000 + 18 * 128)
    glm = find_model("glm-5").architecture
    assert context_bytes(glm, 30_000, 1) == 44928 * 2048 + 132 * 78 * 30_000
    assert state_bytes(glm) == 0
    assert state_bytes(find_model("qwen3.5-397b-a17b").architecture) == 2 * 188743680


@given(gbs, gbs, streams, drafts)
def test_more_bandwidth_never_gives_less(one, other, count, k):
    low, high = sorted((one, other))
    load = Load(streams=count, draft_tokens=k, has_head=True)
    slow, fast = (expected_bound(BF16, TINY, load, Machine(1, rate), 1 + k / 2)[0] for rate in (low, high))
    assert slow <= fast
    assert fast == pytest.approx(slow * high / low)


@given(st.floats(1, 1e12), st.floats(1, 1e12))
def test_more_bytes_never_give_more(one, other):
    low, high = sorted((one, other))
    assert rate_bound(high, Machine(4, 1792)) <= rate_bound(low, Machine(4, 1792))
    assert rate_bound(high, Machine(4, 1792), extra_s=1e-3) < rate_bound(high, Machine(4, 1792))


@pytest.mark.parametrize("model", KNOWN, ids=lambda model: model.id)
@given(count=streams, k=drafts, share=st.floats(0, 1), context=st.integers(0, 200_000))
def test_the_hard_bound_is_never_below_the_expected_one(model, count, k, share, context):
    arch = model.architecture
    params = params_of(arch)
    layouts = [laid_out(params, one) for one in model.checkpoints] + [uniform(params, all_formats()["fp8"])]
    load = Load(streams=count, draft_tokens=k, has_head=True, context=context, tensor_parallel=4)
    machine, length = Machine(4, 1792), 1 + share * k
    for layout in layouts:
        expected, step = expected_bound(layout, arch, load, machine, length)
        assert hard_bound(layout, arch, load, machine, length) >= expected * (1 - 1e-12)
        assert layout.top_k - 1e-6 <= step.distinct <= layout.experts
        plain = plain_step(layout, arch, load)
        assert plain.total <= step.total * (1 + 1e-12)
        assert hard_bound(layout, arch, load, machine, length, cached=1e8) > expected * (1 - 1e-12)


@given(st.integers(1, 512), st.data())
def test_distinct_experts_lie_between_one_token_and_all(experts, data):
    top_k = data.draw(st.integers(1, experts))
    tokens = data.draw(st.integers(1, 10_000))
    found = distinct_experts(experts, top_k, tokens)
    assert math.isclose(distinct_experts(experts, top_k, 1), top_k, rel_tol=1e-9)
    assert top_k * (1 - 1e-9) <= found <= min(experts, top_k * tokens) * (1 + 1e-9)
    assert distinct_experts(0, 0, tokens) == 0


@pytest.mark.parametrize("model", KNOWN, ids=lambda model: model.id)
def test_no_layout_is_smaller_than_the_smallest(model):
    params = params_of(model.architecture)
    least = smallest(params, least_format())
    assert least.token_bytes() == pytest.approx(params.active * 1.125 / 8)
    for layout in [laid_out(params, one) for one in model.checkpoints]:
        assert least.token_bytes() < layout.token_bytes()
