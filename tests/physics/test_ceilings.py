"""Claims laid beside the bounds: what is said of them, and what is never said."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.claim.claim import Case, parse_claim
from auditor.core.physics.laidbeside import ceiling_of

CLAIMS = Path(__file__).parents[2] / "claims"
GB10 = {"gpu": "dgx-spark-gb10", "count": 1}
LLAMA = {"id": "llama-3.3-70b", "quantisation": "AWQ INT4"}
OFF = {"method": "none"}


def case(*, hardware=GB10, model=LLAMA, speculation=None, **fields) -> Case:
    data = {"claim_id": "made", "id": "made", "title": "made", "hardware": hardware, "model": model}
    return Case.model_validate({**data, "speculation": speculation or {}, **fields})


def claim(name: str, row: str | None = None) -> Case:
    path = CLAIMS / f"{name}.yaml"
    return parse_claim(path.read_text(), path.name).case(row)


def line(found, conditions: str, layout: str = "NVFP4 as published"):
    return next(one for one in found.lines if one.conditions == conditions and one.layout == layout)


def test_the_disputed_claim_is_possible():
    found = ceiling_of(claim("fork-130tps"))
    assert found.outcome == "within"
    plain = line(found, "without speculation")
    assert plain.expected[1] == pytest.approx(323, abs=0.5)
    assert plain.expected == plain.hard
    assert plain.expected[0] == pytest.approx(288, abs=0.5)  # Server Edition
    drafted = line(found, "mtp, k = 2, L = 2.73")
    assert drafted.expected[1] == pytest.approx(549, abs=0.6)
    assert drafted.hard[1] == pytest.approx(882, abs=0.5)
    assert drafted.of_expected[0] == pytest.approx(129.5 / 549.45, rel=1e-4)
    assert [one.method for one in drafted.all_reduce] == ["one-shot", "NCCL"]
    assert drafted.all_reduce[0].count == 124
    assert "22 to 35 % of the expected" in found.sentence


def test_82_tokens_on_one_gb10():
    found = ceiling_of(case(reported={"value": 82}, speculation=OFF))
    assert found.sentence == (
        "82 tok/s is impossible as a single stream without speculation; inconclusive until basis and streams are stated"
    )
    assert found.outcome == "open"
    single, several, other = found.readings
    # 69.50 billion weights at 4 bit less 24 MiB of L2 over 273 GB/s: 7.86; as AWQ leaves lm_head, 7.3.
    assert single.ceiling == pytest.approx(273e9 / (69.50e9 / 2 - 24 * 2**20), rel=1e-3)
    assert single.is_possible is False
    assert "10.4 times" in single.sentence
    assert several.is_possible
    assert "at least 11 streams" in several.sentence
    assert other.is_possible is None
    assert found.lines[0].expected[1] == pytest.approx(7.3, abs=0.01)


def test_the_same_as_a_single_stream_is_impossible():
    found = ceiling_of(case(reported={"value": 82, "basis": "decode", "streams": 1}, speculation=OFF))
    assert found.outcome == "impossible"
    assert found.hard == pytest.approx(7.86, abs=0.01)
    assert "82 tok/s is impossible: as a single stream without speculation, at most 7.86" in found.sentence
    assert found.until == ()


def test_speculation_that_is_not_ruled_out_keeps_it_open():
    found = ceiling_of(case(reported={"value": 82, "basis": "decode"}))
    assert found.outcome == "open"
    assert found.until == ("speculation",)
    drafted = next(one for one in found.readings if one.id == "single/drafted")
    assert drafted.ceiling == pytest.approx(17 * 7.8616, rel=1e-3)  # k = 16, every draft accepted
    assert "an assumption" in drafted.sentence
    narrow = ceiling_of(
        case(reported={"value": 82, "basis": "decode"}, speculation={"method": "ngram", "draft_tokens": 4})
    )
    assert narrow.outcome == "impossible"
    assert narrow.hard == pytest.approx(5 * 7.8616, rel=1e-3)


def test_the_stated_acceptance_bounds_the_length():
    spec = {"method": "mtp", "draft_tokens": 2, "acceptance_length": 2.73}
    four = {"gpu": "rtx-pro-6000-blackwell-ws", "count": 4}
    model = {"id": "qwen3.5-397b-a17b", "checkpoint": "nvidia/Qwen3.5-397B-A17B-NVFP4"}
    found = ceiling_of(case(hardware=four, model=model, speculation=spec, reported={"value": 1000, "basis": "decode"}))
    # 2.73 x 4 x 1792.128 GB/s over 21.81 GB less 4 x 128 MiB, state and context left out.
    assert found.hard == pytest.approx(2.73 * 4 * 1792.128 / (21.80967 - 0.536871), rel=1e-4)
    assert found.outcome == "impossible"
    assert ceiling_of(
        case(hardware=four, model=model, speculation=spec, reported={"value": 900, "basis": "decode"})
    ).outcome == "within"  # fmt: skip


def test_an_acceptance_length_above_k_plus_1_is_remarked():
    spec = {"method": "mtp", "draft_tokens": 2, "acceptance_length": (2.73, 3.69)}
    found = ceiling_of(case(speculation=spec, reported={"value": 10, "basis": "decode"}))
    assert any("3.69 is above k + 1 = 3" in remark for remark in found.remarks)
    assert max(one.length[1] for one in found.lines) == 3


@pytest.mark.parametrize("basis", ["total", "peak", "aggregate", "prefill", "drafted"])
def test_nothing_is_said_of_what_has_no_bound(basis):
    found = ceiling_of(case(reported={"value": 1e6, "basis": basis}, speculation=OFF))
    assert found.outcome == "unknown"
    assert found.hard is None
    assert "cannot be bounded" in found.sentence


def test_a_share_per_gpu_counts_for_all():
    two = {"gpu": "rtx-5090", "count": 2}
    found = ceiling_of(case(hardware=two, reported={"value": 30, "basis": "per_gpu", "streams": 1}, speculation=OFF))
    assert (found.low, found.high) == (59, 61)
    assert found.lines[0].expected[1] == pytest.approx(2 * 1792 / 37.396, rel=1e-4)


def test_only_the_ranks_of_one_stage_stream_one_request():
    found = ceiling_of(claim("sm120-16-configs", "marlin-tp2-pp2"))
    assert line(found, "without speculation").expected[1] == pytest.approx(161.5, abs=0.1)
    assert "2 cards" in line(found, "without speculation").reason


@pytest.mark.parametrize(
    ("gpu", "count", "why"),
    [
        ("rtx-5090", 1, "one card needs no all-reduce"),
        ("rtx-5090", 2, "all-reduce times are not known for 2 cards"),
        ("h200", 4, "cards on PCIe 5.0 x16 only"),
        ("rtx-4090", 4, "cards on PCIe 5.0 x16 only"),
    ],
)
def test_times_of_all_reduces_are_not_carried_to_other_machines(gpu, count, why):
    found = ceiling_of(case(hardware={"gpu": gpu, "count": count}, reported={"value": 1}))
    assert all(one.all_reduce == () and why in one.reason for one in found.lines)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"hardware": {"gpu": "rtx-509", "count": 1}}, "rtx-509 is not in the table of GPUs; near it: rtx-5090"),
        ({"hardware": {"gpu": "RTX 5090 D", "count": 1}}, "no row for GeForce RTX 5090 D"),
        ({"hardware": {"count": 1}}, "the GPU is not stated"),
        ({"hardware": {"gpu": "rtx-5090"}}, "the number of GPUs is not stated"),
        ({"model": {"id": "glm-5.1-reap"}}, "glm-5.1-reap is not in the table of models; near it: glm-5"),
        ({"model": {"id": "qwen3.5-9b"}}, "the architecture of Qwen3.5-9B (dense, hybrid) is not in the table"),
        ({"model": {}}, "the model is not stated"),
    ],
)
def test_what_is_missing_is_said_and_nothing_invented(change, why):
    found = ceiling_of(case(**change, reported={"value": 1e6}))
    assert found.outcome == "unknown"
    assert why in found.sentence
    assert found.hard is None
    assert not found.lines


def test_a_claim_without_a_number_still_has_bounds():
    found = ceiling_of(claim("sm120-16-configs", "sglang-0.5.8"))
    assert found.claim_text is None
    assert found.lines
    assert all(one.is_possible is None for one in found.readings)


def test_the_kv_cache_counts_only_where_its_format_is_known():
    model = {"id": "llama-3.1-8b", "quantisation": "FP8"}
    hardware = {"gpu": "rtx-5090", "count": 1}
    bare = ceiling_of(
        case(hardware=hardware, model=model, speculation=OFF, reported={"value": 1, "basis": "decode"}), context=100_000
    )
    stated = ceiling_of(
        case(
            hardware=hardware,
            model={**model, "kv_cache_dtype": "FP8"},
            speculation=OFF,
            reported={"value": 1, "basis": "decode"},
        ),
        context=100_000,
    )
    assert any("the context is left out" in words for words in bare.assumptions)
    read = 7_504_658_432 - 96 * 2**20
    assert bare.hard == pytest.approx(1792e9 / read, rel=1e-3)
    assert stated.hard == pytest.approx(1792e9 / (read + 65_536 * 100_000), rel=1e-3)
    assert bare.lines[0].expected == stated.lines[0].expected


def test_weights_that_fit_into_the_caches_are_bounded_by_operations_only():
    found = ceiling_of(
        case(hardware={"gpu": "rtx-pro-6000-blackwell-ws", "count": 100}, model={"id": "qwen3-30b-a3b"}, speculation=OFF,
             reported={"value": 1e6, "basis": "decode"})
    )  # fmt: skip
    (single,) = found.readings
    assert single.ceiling == pytest.approx(100 * 2015e12 / (2 * 3.04e9), rel=1e-2)


def test_every_figure_has_a_source_and_a_unit():
    for path in CLAIMS.glob("*.yaml"):
        for one in parse_claim(path.read_text(), path.name).cases():
            found = ceiling_of(one)
            assert found.inputs, one.id
            for given_input in found.inputs:
                assert given_input.source, (one.id, given_input)
                assert re.search(r"[A-Za-z]", given_input.value), (one.id, given_input)
            assert found.outcome in ("within", "unknown", "open")


@given(
    value=st.integers(1, 10_000_000),
    gpu=st.sampled_from(["rtx-5090", "rtx-pro-6000-blackwell", "dgx-spark-gb10", "h200", "mi300x"]),
    count=st.integers(1, 16),
    model=st.sampled_from(["qwen3.5-397b-a17b", "llama-3.3-70b", "gpt-oss-120b", "kimi-k2", "qwen3-8b"]),
    quantisation=st.sampled_from([None, "NVFP4", "FP8", "Q4_K_M", "something new"]),
    basis=st.sampled_from([None, "decode", "output", "total", "per_user"]),
    streams=st.sampled_from([None, 1, 64]),
    speculation=st.sampled_from(
        [{}, OFF, {"method": "mtp"}, {"method": "mtp", "draft_tokens": 3}, {"draft_tokens": 1}]
    ),
)
def test_stating_less_never_makes_it_impossible(value, gpu, count, model, quantisation, basis, streams, speculation):
    """What is impossible with a field unstated stays impossible however the field is filled."""
    hardware = {"gpu": gpu, "count": count}
    reported = {"value": value, "basis": basis, "streams": streams}
    loose = ceiling_of(case(hardware=hardware, model={"id": model}, reported={"value": value}))
    tight = ceiling_of(
        case(
            hardware=hardware,
            model={"id": model, "quantisation": quantisation},
            reported=reported,
            speculation=speculation,
        )
    )
    if loose.outcome == "impossible":
        assert tight.outcome in ("impossible", "unknown")
    if tight.hard is not None and loose.hard is not None:
        assert tight.hard <= loose.hard * (1 + 1e-5)
    for one in tight.lines:
        assert one.hard[0] >= one.expected[0] * (1 - 1e-5)
        assert one.hard[1] >= one.expected[1] * (1 - 1e-5)
    if tight.outcome == "impossible":
        assert tight.low > tight.hard
