"""`audit ceiling` as people call it."""

import json

import pytest
from click.testing import CliRunner

from auditor.cli.ceiling import ceiling
from auditor.errors import UsageError

FORK = "claims/fork-130tps.yaml"
GB10 = ("--gpu", "dgx-spark-gb10", "--gpus", "1", "--model", "llama-3.3-70b", "--quantisation", "AWQ")


def run(*arguments: str):
    return CliRunner().invoke(ceiling, list(arguments), standalone_mode=False)


@pytest.mark.usefixtures("wide")
def test_a_claim_file():
    found = run(FORK)
    assert found.return_value == 0
    assert "130 to 150 tok/s lies within the hard bound" in found.output
    assert "288 to 323.1" in found.output
    assert "https://github.com/SemiAnalysisAI/InferenceX" in found.output
    assert len(found.output.splitlines()) < 25
    assert "78,473" not in found.output  # of 1.125-bit weights: no answer to what is asked
    full = run(FORK, "--full").output
    assert "78,473" in full
    assert "That takes for granted:" in full
    assert "What it rests on:" in full


def test_what_the_claim_is_above_is_said_without_full():
    found = run(*GB10, "--value", "82", "--draft-tokens", "0")
    assert "impossible  a single stream without speculation: at most 7.86" in found.output
    assert "several streams" not in found.output
    assert "several streams" in run(*GB10, "--value", "82", "--draft-tokens", "0", "--full").output


def test_the_source_of_a_length_is_who_gave_it(tmp_path):
    given = run(FORK, "--draft-tokens", "2", "--acceptance-length", "2.73").output
    assert "L: acceptance length, given as an option" in given
    assert "stated by the claim" not in given
    claim = tmp_path / "claim.yaml"
    text = "schema: 1\nid: a\ntitle: a\nhardware: {gpu: dgx-spark-gb10, count: 1}\nmodel: {id: llama-3.3-70b}\n"
    claim.write_text(text + "reported: {value: 8}\nspeculation: {draft_tokens: 2, acceptance_length: 9}\n")
    stated = run(str(claim)).output
    assert "L: acceptance length, stated by the claim, cut to k + 1 = 3" in stated
    assert "Note: an acceptance length of 9 is above k + 1 = 3" in stated


def test_a_bound_that_cannot_be_worked_out_is_exit_4_with_a_number_or_without():
    unknown = ("--gpu", "rtx-509", "--model", "llama-3.3-70b")
    assert run(*unknown).return_value == run(*unknown, "--value", "1").return_value == 4
    assert run("--gpu", "rtx-5090", "--model", "llama-3.3-70b").return_value == 0


def test_a_format_that_is_not_known_is_said_to_be_read_as_none():
    numbers = ("--gpu", "rtx-5090", "--model", "llama-3.3-70b")
    typo, none = run(*numbers, "--quantisation", "nvpf4"), run(*numbers)
    assert "--quantisation nvpf4: no one format that is known here; read as not stated" in typo.stderr
    assert typo.stdout == none.stdout
    assert "read as" not in run(*numbers, "--quantisation", "NVFP4").stderr + none.stderr


def test_numbers_are_laid_over_the_claim():
    found = run(
        FORK, "--draft-tokens", "2", "--acceptance-length", "2.73", "--gpu", "rtx-pro-6000-blackwell-ws", "--json"
    )
    document = json.loads(found.stdout)
    line = next(one for one in document["ceiling"]["lines"] if one["draft_tokens"] == 2)
    assert line["conditions"] == "mtp, k = 2, L = 2.73"
    assert line["expected"][1] == pytest.approx(549, abs=0.6)
    assert line["hard"][1] == pytest.approx(882, abs=0.5)
    assert document["claim"] == "fork-130tps"


def test_numbers_alone_and_the_exit_codes():
    open_ = run(*GB10, "--value", "82", "--draft-tokens", "0")
    assert open_.return_value == 4
    assert "impossible as a single stream without speculation" in open_.output
    assert run(*GB10, "--value", "7.3", "--draft-tokens", "0").return_value == 0
    assert run(*GB10).return_value == 0  # no number
    with_row = run("claims/sm120-16-configs.yaml", "--row", "marlin-tp4", "--value", "5000", "--draft-tokens", "0")
    assert with_row.return_value == 3
    unknown = run("--gpu", "rtx-509", "--model", "llama-3.3-70b", "--value", "1")
    assert unknown.return_value == 4
    assert "near it: rtx-5090" in " ".join(unknown.output.split())


def test_json_is_one_document_on_standard_output():
    found = run(*GB10, "--value", "82", "--json")
    document = json.loads(found.stdout)
    assert document["ceiling"]["outcome"] == "open"
    assert document["ceiling"]["until"] == ["basis", "streams", "speculation"]
    assert found.stderr.startswith("82 tok/s is impossible")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a claim, or --gpu and --model"),
        (("--gpu", "rtx-5090"), "give a claim, or --gpu and --model"),
        ((*GB10, "--value", "fast"), "--value fast"),
        ((*GB10, "--value", "nan"), "--value nan"),
        ((*GB10, "--value", "-1"), "--value -1"),
        ((*GB10, "--draft-tokens", "0", "--acceptance-length", "2"), "goes with --draft-tokens"),
        ((*GB10, "--draft-tokens", "2", "--acceptance-length", "9"), "a step gives at most k + 1 = 3 tokens"),
        (("--gpu", "a\nb", "--model", "m"), "must be one line of text"),
        (("claims/sm120-16-configs.yaml",), "has 11 measurements"),
    ],
)
def test_bad_input_is_one_line(arguments, words):
    found = run(*arguments)
    assert isinstance(found.exception, UsageError)
    assert words in str(found.exception)
    assert "\n" not in str(found.exception)
