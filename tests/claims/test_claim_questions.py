"""What a claim leaves open."""

import pytest

from auditor.core.claim.claim import parse_claim
from auditor.core.claim.questions import questions_for

HEAD = "schema: 1\nid: a\ntitle: b\n"
FULL = (
    HEAD
    + """\
hardware: {gpu: rtx-pro-6000-blackwell-ws, count: 4, link: PCIe, power_limit_w: 600}
model: {id: m, quantisation: NVFP4, checkpoint: a/b, kv_cache_dtype: FP8}
engine: {name: vLLM, version: 0.17.0, parallelism: {tp: 4}, argv: [serve]}
speculation: {method: none}
reported: {value: 50.5, basis: decode, window: first_to_last, counter: usage}
workload: {prompt_tokens: 100, output_tokens: 1000, dataset: own, sampling: {temperature: 0}}
"""
)


def asked(text: str) -> list[str]:
    """The headings of the questions."""
    return [question.split(":")[0] for question in questions_for(parse_claim(text, "f").case(None))]


def test_a_full_claim_leaves_nothing_open() -> None:
    assert asked(FULL) == []


@pytest.mark.parametrize(
    ("stated", "instead", "question"),
    [
        ("value: 50.5, ", "", "Number"),
        ("basis: decode, ", "streams: 1, per_gpu: false, ", "Basis"),
        ("basis: decode, ", "basis: aggregate, streams: 8, per_gpu: false, ", "Basis"),
        ("basis: decode, ", "basis: peak, streams: 8, per_gpu: false, ", "Peak"),
        ("basis: decode, ", "basis: output, per_gpu: false, ", "Streams"),
        ("basis: decode, ", "basis: output, streams: 8, ", "Share"),
        ("value: 50.5", "range: [50, 60]", "Range"),
        ("window: first_to_last, ", "", "Window"),
        (", counter: usage", "", "Counter"),
        ("link: PCIe, ", "", "Link"),
        (", power_limit_w: 600", "", "Power"),
        ("-ws", "", "Edition"),
        ("quantisation: NVFP4, ", "", "Quantisation"),
        (", checkpoint: a/b", "", "Checkpoint"),
        (", kv_cache_dtype: FP8", "", "KV cache"),
        ("version: 0.17.0", "fork: {url: 'https://a/b'}", "Commit"),
        ("version: 0.17.0, ", "", "Version"),
        (", argv: [serve]", "", "Launch"),
        ("parallelism: {tp: 4}, ", "", "Parallelism"),
        ("name: vLLM", "name: vLLM or SGLang", "Engine"),
        ("prompt_tokens: 100, ", "", "Prompt"),
        ("output_tokens: 1000, ", "", "Answer"),
        ("dataset: own, ", "", "Prompts"),
        (", sampling: {temperature: 0}", "", "Sampling"),
    ],
)
def test_each_gap_asks_its_question(stated: str, instead: str, question: str) -> None:
    assert stated in FULL
    assert asked(FULL.replace(stated, instead)) == [question]


def test_an_unstated_basis_leaves_streams_and_share_open_too() -> None:
    assert asked(FULL.replace("basis: decode, ", "")) == ["Basis", "Streams", "Share"]


def test_speculation_asks_for_width_acceptance_and_what_was_counted() -> None:
    assert asked(FULL.replace("{method: none}", "{}")) == [
        "Speculation",
        "Draft width",
        "Acceptance",
        "Rejected drafts",
    ]
    stated = "{method: mtp, draft_tokens: 2, acceptance: [0.61, 0.85]}"
    assert asked(FULL.replace("{method: none}", stated)) == ["Acceptance", "Rejected drafts"]
    defined = stated.replace("}", ", acceptance_definition: per_drafted}")
    assert asked(FULL.replace("{method: none}", defined)) == ["Rejected drafts"]


def test_without_a_rate_nothing_is_asked_of_the_rate() -> None:
    assert asked(HEAD + "reported: {outcome: unsupported}\nhardware: {gpu: x, count: 1, power_limit_w: 1}") == [
        "Model",
        "Quantisation",
        "Checkpoint",
        "KV cache",
        "Engine",
        "Launch",
    ]
