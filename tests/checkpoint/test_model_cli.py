"""`audit model`, and `audit ceiling` with a checkpoint of one's own."""

import json

import pytest
from click.testing import CliRunner
from made_checkpoints import HYBRID, HYBRID_QUANT, hybrid_tensors, write

from auditor.capture.gguf import find_gguf
from auditor.cli.ceiling import ceiling
from auditor.cli.model import model
from auditor.errors import UsageError


def run(command, *arguments: str):
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


@pytest.mark.usefixtures("wide")
def test_a_folder(tmp_path):
    folder = write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())
    shown = run(model, str(folder))
    assert shown.exception is None
    assert "MTP           in the checkpoint: 35 tensors, BF16, not in the quantisation" in shown.output
    assert "routed experts" in shown.output
    assert "mtp.layers.0.mlp.experts.*.gate_proj.weight (BF16) x 8" in shown.output
    assert "the checkpoint declares FP8" in shown.output
    document = json.loads(run(model, str(folder), "--json").stdout)["checkpoint"]
    assert document["token_bytes"] == sum(part["token_bytes"] for part in document["parts"])
    assert document["mtp"]["formats"] == {"BF16": 35}


def test_a_model_of_the_table_with_its_sources():
    shown = run(model, "nvidia/Qwen3.5-397B-A17B-NVFP4")
    said = " ".join(shown.output.split())  # wrapped to the width of the terminal
    assert "NVFP4 as published                 21.81 GB    237 GB    2.592 GB" in shown.output
    assert "leaves unquantised: lm_head, self_attn, linear_attn" in said
    assert "https://github.com/ai-dynamo/aiconfigurator" in said
    assert "56.12 reported" in said
    document = json.loads(run(model, "glm-5", "--json").stdout)["reference"]
    published = next(one for one in document["layouts"] if one["id"] == "nvfp4_published")
    assert published["token_bytes"] / 1e9 == pytest.approx(44.06, abs=0.005)
    assert document["sources"]


def test_what_the_table_does_not_know_is_said():
    shown = run(model, "deepseek-v4-flash")
    assert "Not known     layer config not retrieved" in shown.output
    assert "a token, by the architecture" not in shown.output
    found = run(model, "gpt-oss-12b")
    assert isinstance(found.exception, UsageError)
    assert "known: gpt-oss-120b, gpt-oss-20b" in str(found.exception)


def test_a_ceiling_of_a_checkpoint_on_disk(tmp_path):
    folder = write(tmp_path / "made", HYBRID, quant=HYBRID_QUANT, tensors=hybrid_tensors())
    found = run(ceiling, "--gpu", "rtx-5090", "--model", str(folder), "--value", "1e8", "--draft-tokens", "0", "--json")
    document = json.loads(found.stdout)["ceiling"]
    assert [one["layout"] for one in document["lines"]][:1] == ["as made holds it"]
    assert any("made: config.json" in one["source"] for one in document["inputs"])
    read = json.loads(run(model, str(folder), "--json").stdout)["checkpoint"]["token_bytes"]
    state = 2 * 3 * 4 * 16 * 16 * 4
    assert document["lines"][0]["expected"][1] == pytest.approx(1792e9 / (read + state), rel=1e-5)


@pytest.mark.usefixtures("wide")
def test_a_ceiling_of_a_gguf_file():
    found = run(ceiling, "--gpu", "rtx-5090", "--model", str(find_gguf()), "--value", "900", "--draft-tokens", "0")
    assert found.return_value == 0
    assert "SmolLM2-135M-Instruct.Q4_1.gguf holds it" in found.output
