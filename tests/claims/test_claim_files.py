"""The claim files of the repository say what was published, and no more."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from auditor.core.claim.claim import Case, Claim, OutcomeStated, claim_schema, parse_claim
from auditor.core.claim.questions import questions_for

FOLDER = Path(__file__).parents[2] / "claims"
FILES = sorted(FOLDER.glob("*.yaml"))


def read(name: str) -> Claim:
    return parse_claim((FOLDER / f"{name}.yaml").read_text(), name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_valid_by_parser_and_by_schema(path: Path) -> None:
    text = path.read_text()
    claim = parse_claim(text, path.name)
    assert claim.id == path.stem
    jsonschema.validate(yaml.safe_load(text.replace("date: 2026-03-12", "date: '2026-03-12'")), claim_schema())
    assert all(questions_for(case) for case in claim.cases())
    assert f"`{path.name}`" in (FOLDER / "README.md").read_text()


def test_the_schema_refuses_what_the_parser_refuses() -> None:
    validator = jsonschema.Draft202012Validator(claim_schema())
    head = {"schema": 1, "id": "a", "title": "b"}
    assert validator.is_valid(head)
    for wrong in (
        {"schema": 2},
        {"id": "A b"},
        {"colour": 1},
        {"hardware": {"count": 0}},
        {"reported": {"value": -1}},
        {"reported": {"range": [1]}},
        {"speculation": {"acceptance": 61}},
        {"reported": {"basis": "fast"}},
        {"measurements": [{"title": "no id"}]},
    ):
        assert not validator.is_valid({**head, **wrong}), wrong


def test_the_fork_claim_states_only_what_the_disputer_quotes() -> None:
    claim = read("fork-130tps")
    case = claim.case(None)
    assert case.reported.as_text() == "130 to 150 tok/s"
    assert case.hardware.count == 4
    assert set(case.engine.kinds()) == {"vllm", "sglang"}
    assert case.engine.is_fork
    unstated = (
        case.speculation.draft_tokens,
        case.speculation.acceptance,
        case.reported.basis,
        case.reported.window,
        case.reported.streams,
        case.model.quantisation,
        case.engine.fork.commit,
        case.engine.fork.url,
        case.engine.version,
    )
    assert set(unstated) == {None}
    assert claim.disputed_by
    assert claim.reported_by
    assert any("zero kernel-level changes" in text for text in claim.disputer_says)
    assert "kernel" not in case.to_json().decode()


def shown(case: Case) -> tuple[str, str, str | None, int | None]:
    return (case.id, case.reported.as_text(), case.speculation.method, case.engine.parallelism.tp)


def test_the_matrix_has_the_11_published_rows() -> None:
    rows = [shown(case) for case in read("sm120-16-configs").cases()]
    assert rows == [
        ("marlin-tp4", "50.5 tok/s", "none", 4),
        ("marlin-tp2-pp2", "49 tok/s", "none", 2),
        ("marlin-mtp2", "39 to 40 tok/s", "mtp", 4),
        ("cutlass-image-best", "41 tok/s", "mtp", 4),
        ("cutlass-image-worst", "26 tok/s", "mtp", 4),
        ("native-cutlass", "about 5 tok/s, output garbage", "mtp", 4),
        ("default-backend", "6 to 7 tok/s, output garbage", "none", 4),
        ("sglang-0.5.8", "NaN, no rate", None, 4),
        ("expert-parallel", "1.4 to 2.6 tok/s", "none", 2),
        ("tensorrt-llm", "unsupported, no rate", None, None),
        ("flashinfer-sampler", "5.9 tok/s", "none", 4),
    ]


def test_single_rows() -> None:
    fork, eight, tuned, kimi = (
        read(name).case(None)
        for name in ("qwen397-67.76tps", "qwen397-72tps", "qwen397-172tps", "kimi-k2-thinking-5816tps")
    )
    assert (fork.reported.value, fork.hardware.count, fork.reported.basis) == (67.76, 4, None)
    assert (eight.reported.value, eight.hardware.count, eight.reported.basis) == (72, 8, "decode")
    assert (tuned.reported.value, tuned.hardware.count, tuned.reported.basis, tuned.speculation.method) == (
        172,
        8,
        None,
        None,
    )
    assert (kimi.reported.value, kimi.reported.basis, kimi.model.quantisation) == (5816, "peak", None)


def test_glm5_keeps_total_output_and_peak_apart() -> None:
    rows = [(case.reported.basis, case.reported.value, case.reported.streams) for case in read("glm5-8cards").cases()]
    assert rows == [
        (None, 11, 1),
        ("total", 880, None),
        ("total", 1950, 256),
        ("total", 2800, 512),
        ("total", 3740, 1024),
        ("output", 700, None),
        ("output", 1240, None),
        ("output", 1240, 1024),
        ("peak", 1300, None),
        ("peak", 2350, None),
        ("peak", 3945, 1024),
    ]
    assert OutcomeStated.GARBAGE not in {case.reported.outcome for case in read("glm5-8cards").cases()}
    assert "87 W" in (read("glm5-8cards").source.evidence or "")
