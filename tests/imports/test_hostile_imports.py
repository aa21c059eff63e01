"""200 changed files, over every format, crash nothing: each gives a record or one declared line of error, and nothing
that a record or a line of text holds could reach a terminal or a page as it was."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from mutations import MARK, mutated, samples

from auditor.cli.importtext import text_of
from auditor.core.claim.claim import parse_claim
from auditor.core.claim.text import UNSAFE
from auditor.core.imports.claimed import lay_beside
from auditor.core.imports.format import File
from auditor.core.imports.reading import read_files
from auditor.errors import UsageError
from auditor.review.imports import Taken, keep, with_stored_names

CLAIM = parse_claim("schema: 1\nid: any\ntitle: Any\nreported: {value: 100}\n", "any.yaml").case(None)
SAMPLES = samples()
NAMES = ("../../etc/passwd", "a" * 5_000, "CON", "x\n\x1b[2Jy", MARK, ".", "", "..\\..\\x", "\u202egpj.exe", "nul\0l")


def taken(data: bytes, name: str = "file") -> list[Taken]:
    return [Taken(one, files, lay_beside(CLAIM, one, "now")) for one, files in read_files([File(name, data)])]


PAGE = Environment(autoescape=True).from_string(
    "{% for text in texts %}<p title='{{ text }}'>{{ text }}</p>{% endfor %}"
)


def elements(page: str) -> set[str]:
    """Every element that a browser would make of a page."""
    found: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.add(tag)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from (name, *texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("seed", range(200))
def test_a_changed_file_gives_a_record_or_one_line(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = sorted(SAMPLES)[seed % len(SAMPLES)]
    data = mutated(SAMPLES[name], rng)
    found, words = [], ""
    try:
        found = taken(data, rng.choice(NAMES))
    except UsageError as error:
        words = str(error)
    assert len(words) < 1_500
    assert not UNSAFE.search(words)
    assert "\n" not in words
    assert bool(found) != bool(words)
    for one in found:
        for text in texts(json.loads(one.imported.to_json())):
            assert not UNSAFE.search(text), text
            assert "\n" not in text
        said = text_of(one, tmp_path, CLAIM, is_full=True)
        assert not UNSAFE.search(said.replace("\n", " "))
        assert elements(PAGE.render(texts=[said, *texts(json.loads(one.imported.to_json()))])) == {"p"}


def test_every_sample_is_read_as_it_is() -> None:
    unread = []
    for name, data in SAMPLES.items():
        try:
            assert taken(data)
        except UsageError as error:
            unread.append((name, str(error)))
    # Parts that hold no result by themselves say so.
    assert [name for name, words in unread if "by itself" not in words] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_name_never_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    (one,) = taken(SAMPLES["vllm-bench"], name)
    folder = keep(replace(one, imported=with_stored_names(one.imported, one.files)), tmp_path / "reports", None)
    kept = sorted(path.name for path in folder.iterdir())
    assert len(kept) == 4
    assert {"import.json", "requests.jsonl", "manifest.json"} < set(kept)
    (original,) = [path for path in folder.iterdir() if path.name.startswith("original-")]
    assert re.fullmatch(r"original-[A-Za-z0-9._-]{1,80}", original.name)
    assert original.read_bytes() == SAMPLES["vllm-bench"]
    assert [path.name for path in tmp_path.iterdir()] == ["reports"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"total_token_throughput": NaN, "output_throughput": 1, "num_prompts": 1}', "NaN in 'total_token_throughput'"),
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"a": ' + b"9" * 6_000 + b"}", "integer of thousands of digits"),
        (b"\x00\x01\x02\xff\xfe binary", "neither text nor"),
        (b"", "is empty"),
        (b'{"a": ', "is no JSON"),
        (b'{"hello": "world"}', "no result file that is known"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(data: bytes, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        taken(data)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"output_throughput": float("inf")}, "output_throughput: must be a number, and is text 'inf'"),
        ({"output_throughput": "inf"}, "output_throughput: must be a number, and is text 'inf'"),
        ({"output_throughput": 1e300}, "nothing measured can be"),
        ({"completed": -1}, "completed: must be at least 0"),
        ({"num_prompts": 1.5}, "num_prompts: must be a count"),
        ({"duration": 1e12}, "duration: is a time that nothing measured can be"),
        ({"itls": [["x"]] * 4}, "itls: must be a number"),
        ({"output_lens": {"a": 1}}, "output_lens: must be a list, and is an object"),
    ],
)
def test_a_field_out_of_bounds_is_named_with_its_file(change: dict[str, Any], words: str) -> None:
    document = json.loads(SAMPLES["vllm-bench"]) | change
    with pytest.raises(UsageError) as caught:
        taken(json.dumps(document).encode(), "result.json")
    assert str(caught.value).startswith("result.json: ")
    assert words in str(caught.value)


def test_a_cut_last_line_is_left_out_and_said() -> None:
    line = SAMPLES["sglang-bench"]
    (one,) = taken(line + b"\n" + line[:200])
    assert len(one.imported.results) == 1
    assert "left out" in one.imported.notes[0]
