"""Changed files, over every format, in a review: nothing crashes, and no element of theirs reaches the page."""

import json
import random
from html.parser import HTMLParser

import pytest
from mutations import MARK, mutated, samples

from auditor.core.claim.claim import parse_claim
from auditor.core.claim.text import UNSAFE
from auditor.core.imports.format import File
from auditor.core.imports.reading import read_files
from auditor.core.reviewing.make import make_review
from auditor.core.reviewing.pieces import import_piece
from auditor.errors import UsageError
from auditor.report.reviewpage import review_page
from auditor.report.reviewtext import markdown_of, terminal_of

CLAIM = parse_claim(
    "schema: 1\nid: any\ntitle: Any\nhardware: {gpu: rtx-pro-6000-blackwell, count: 4}\n"
    "model: {id: qwen3.5-397b-a17b}\nreported: {value: 100}\n",
    "any.yaml",
)
SAMPLES = samples()
NAMES = ("a.json", MARK, "x\n\x1b[2Jy", "\u202egpj.exe", "<svg onload=alert(1)>")
FORBIDDEN = {"script", "img", "svg", "iframe", "object", "form", "input", "link"}


def elements(page: str) -> set[str]:
    """Every element that a browser would make of a page."""
    found: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.add(tag)  # type: ignore[method-assign]
    parser.feed(page)
    return found


@pytest.mark.parametrize("part", range(8))
def test_a_changed_file_can_be_inspected_and_reviewed(part: int) -> None:
    pages = 0
    for seed in range(part, 200, 8):
        rng = random.Random(seed)
        data = mutated(SAMPLES[sorted(SAMPLES)[seed % len(SAMPLES)]], rng)
        try:
            read = [imported for imported, _ in read_files([File(rng.choice(NAMES), data)])]
        except UsageError:
            continue
        case = CLAIM.case(None)
        for imported in read:
            review = make_review(CLAIM, case, "0" * 64, "0", [import_piece(imported, case, 0)], [], [])
            json.loads(review.to_json())
            pages += 1
            assert not elements(review_page(review)) & FORBIDDEN
            assert not UNSAFE.search(markdown_of(review).replace("\n", " "))
            assert not any(UNSAFE.search(line) for line in terminal_of(review))
    assert pages
