"""Our arithmetic beside what the study of hardware and models worked out, figure by figure, within its rounding."""

import json
import re
from pathlib import Path

import pytest

from auditor.core.physics.bounds import Machine, collectives, expected_bound, hard_bound, payload, rate_bound
from auditor.core.physics.parts import params_of
from auditor.core.physics.step import Load, cache_growth, expected_step, state_size
from auditor.core.physics.weights import laid_out, uniform
from auditor.reference.formats import all_formats
from auditor.reference.measured import all_reduces
from auditor.reference.models import find_model

HERE = Path(__file__).parent
WORKED = json.loads((HERE / "worked_rooflines.json").read_text())
CLAIMS = json.loads((HERE / "claim_rooflines.json").read_text())["claims"]
GIVEN = json.loads((HERE.parent / "reference" / "given_models.json").read_text())["models"]
FORMATS = {"bf16": "bf16", "fp8": "fp8", "nvfp4_uniform": "nvfp4"}


def weights_of(model: str, scheme: str):
    row = find_model(model)
    params = params_of(row.architecture)
    if scheme in FORMATS:
        return uniform(params, all_formats()[FORMATS[scheme]]), row.architecture
    return laid_out(params, next(one for one in row.checkpoints if one.id == scheme)), row.architecture


def rounded(value: float, unit: float):
    """What the study printed with that last place."""
    return pytest.approx(value, abs=unit / 2 * 1.001)


@pytest.mark.parametrize("model", GIVEN)
def test_parameters_and_bytes_follow_from_the_architecture(model):
    given, arch = GIVEN[model], find_model(model).architecture
    params = params_of(arch)
    parts = {name: count for name, count in given["params"].items() if name in params.fixed}
    assert params.fixed == parts
    assert (params.expert, params.embed) == (given["params"]["routed_one"], given["params"]["embed"])
    assert params.expert_layers == given["params"]["routed_layers"]
    assert params.total / 1e9 == rounded(given["total_params_b"], 0.01)
    assert params.active / 1e9 == rounded(given["active_params_b"], 0.01)
    for scheme, gigabytes in given["bytes_per_token_gb"].items():
        weights, _ = weights_of(model, scheme)
        assert weights.token_bytes() / 1e9 == rounded(gigabytes, 0.01), scheme
        assert weights.stored_bytes() / 1e9 == rounded(given["checkpoint_gb"][scheme], 0.1), scheme
    assert cache_growth(arch, 2) == given["kv_bytes_per_token"]["bf16"]
    assert cache_growth(arch, 1) == given["kv_bytes_per_token"]["fp8"]
    assert state_size(arch) == given["state_bytes"]
    assert weights.draft_bytes(weights.top_k) / 1e9 == rounded(given["draft_step_gb"], 0.01)


def _case(label: str):
    """Model, k, acceptance length and context of a worked case; the rows of InferenceX were at 8,192 tokens."""
    spec = re.search(r"MTP k=(\d) L=([\d.]+)", label)
    k, length = (int(spec[1]), float(spec[2])) if spec else (0, 1.0)
    model = "glm-5" if label.startswith("GLM") else "qwen3.5-397b-a17b"
    return model, k, length, 8192 if "InferenceX" in label else 0


@pytest.mark.parametrize("row", WORKED["worked_cases"], ids=lambda row: f"{row['label']} at {row['bw']}")
def test_worked_cases(row):
    model, k, length, context = _case(row["label"])
    weights, arch = weights_of(model, "nvfp4_published")
    load = Load(draft_tokens=k, has_head=k > 0, context=context, tensor_parallel=row["gpus"])
    machine = Machine(row["gpus"], row["bw"])
    bound, step = expected_bound(weights, arch, load, machine, length)
    assert step.total / 1e9 == rounded(row["gb"], 0.01)
    assert bound == rounded(row["bound"], 0.1)
    assert row["value"] / bound == rounded(row["frac"], 0.001)
    for reduce in all_reduces(row["gpus"]):
        seconds = collectives(arch, load) * reduce.floor_us(payload(arch, load)) * 1e-6
        key = {"one-shot": "oneshot", "NCCL": "nccl"}[reduce.method]
        with_floor = rate_bound(step.total, machine, 1, length, seconds)
        assert with_floor == rounded(row[f"bound_{key}"], 0.1)
        assert row["value"] / with_floor == rounded(row[f"frac_{key}"], 0.001)


@pytest.mark.parametrize("row", WORKED["batch_rooflines"], ids=lambda row: f"{row['model']} {row['B']} streams")
def test_batches(row):
    scheme = "int4_native" if row["model"] == "kimi-k2" else "nvfp4_published"
    weights, arch = weights_of(row["model"], scheme)
    load = Load(streams=row["B"], context=1024, tensor_parallel=row["n"])
    bound, step = expected_bound(weights, arch, load, Machine(row["n"], 1792))
    assert step.distinct == rounded(row["distinct"], 0.1)
    assert step.total / 1e9 == rounded(row["gb_step"], 0.1)
    assert bound == rounded(row["tok_s"], 1)


@pytest.mark.parametrize("row", WORKED["mtp_table_qwen397"], ids=lambda row: f"k = {row['k']}")
def test_mtp_table(row):
    weights, arch = weights_of("qwen3.5-397b-a17b", "nvfp4_published")
    load = Load(draft_tokens=row["k"], has_head=True)
    machine = Machine(4, 1792)
    step = expected_step(weights, arch, load)
    assert step.distinct == rounded(row["distinct"], 0.1)
    assert step.total / 1e9 == rounded(row["gb"], 0.1)
    assert step.total / machine.rate * 1e3 == rounded(row["ms"], 0.01)
    assert expected_bound(weights, arch, load, machine, row["L"])[0] == rounded(row["bound"], 1)


@pytest.mark.parametrize("row", CLAIMS, ids=lambda row: row["id"])
def test_rooflines_of_published_claims(row):
    weights, arch = weights_of(row["model"], row["scheme"])
    machine = Machine(row["n_gpus_streaming"], row["bandwidth_gbs_each"])
    # One claim was laid beside its context of 30,000 tokens, the others beside none.
    load = Load(context=30_000 if row["id"] == "glm51-37113" else 0, tensor_parallel=machine.gpus)
    bound, step = expected_bound(weights, arch, load, machine)
    assert step.total / 1e9 == rounded(row["weight_gb_per_step"], 0.01)
    assert bound == rounded(row["nospec_bound_tok_s"], 0.1)
    if "k" in row:
        load = Load(draft_tokens=row["k"], has_head=True)
        length = row["accept_len_used"]
        assert hard_bound(weights, arch, load, machine, length) == rounded(row["spec_strict_bound"], 0.1)
        assert expected_bound(weights, arch, load, machine, length)[0] == rounded(row["spec_expected_bound"], 0.1)
