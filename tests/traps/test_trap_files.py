"""Files of rules: what is read, and what is refused with its file, line and field."""

import re
from pathlib import Path

import pytest

from auditor.core.observed import FACT_NAMES
from auditor.errors import UsageError
from auditor.reference.traps import SEVERITIES, TrapFile, parse_traps

ROOT = Path(__file__).parents[2]
GOOD = """# a comment
[[rules]]
id = "first"
title = "The first"
severity = "slow"
consequence = "Slow."
remedy = "Wait."
sources = ["https://example.org"]
[[rules.signs]]
lines = ['slow link']

[[rules]]
id = "second"
title = "The second"
severity = "caveat"
consequence = "Odd."
remedy = "Look."
sources = ["https://example.org"]
[[rules.signs]]
facts = [{ name = "gpu_count", op = "above", value = 1 }]
"""


def read(text: str | bytes) -> TrapFile:
    return parse_traps(text.encode() if isinstance(text, str) else text, "mine.toml", FACT_NAMES)


def test_a_file_of_rules_is_read() -> None:
    first, second = read(GOOD).rules
    assert (first.id, first.severity, first.signs[0].lines) == ("first", "slow", ("slow link",))
    assert (second.signs[0].facts[0].op, second.signs[0].facts[0].value) == ("above", 1)
    assert read("").rules == ()


@pytest.mark.parametrize(
    ("before", "after", "where", "words"),
    [
        ("lines = ['slow link']", "lines = ['slow.*link']", "mine.toml:2", "rule first: signs.1.lines: .* at character"),
        ("lines = ['slow link']", "lines = ['slow (link']", "mine.toml:2", "not a regular expression"),
        ("lines = ['slow link']", "absent = ['slow link']", "mine.toml:2", "rule first: signs.1: needs lines or facts"),
        ("lines = ['slow link']", "line = ['slow link']", "mine.toml:2", "rule first: signs.1.line: extra inputs"),
        ('severity = "caveat"', 'severity = "bad"', "mine.toml:12", "rule second: severity: .*'invalid'"),
        ('remedy = "Look."\n', "", "mine.toml:12", "rule second: remedy: field required"),
        ('sources = ["https://example.org"]\n[[rules.signs]]\nfacts', "sources = []\n[[rules.signs]]\nfacts",
         "mine.toml:12", "rule second: sources: "),
        ('"gpu_count"', '"gpu_number"', "mine.toml:12", "rule second: no fact is called gpu_number; use one of: .*gpu_count"),
        ("value = 1 ", 'value = "1" ', "mine.toml:12", "rule second: signs.1.facts.1: above needs a number"),
        ('op = "above"', 'op = "one_of"', "mine.toml:12", "one_of needs a list"),
        ('op = "above"', 'op = "like"', "mine.toml:12", "rule second: signs.1.facts.1.op: input should be 'is'"),
        ('id = "second"', 'id = "first"', "mine.toml:12", "two rules are called first"),
        ('id = "second"', 'id = "Second rule"', "mine.toml:12", "id: string should match"),
        ('id = "second"', 'id = "second"\nsince = "new"', "mine.toml:12", "since: string should match"),
        ("# a comment", "version = 2", "mine.toml", "version: input should be 1"),
        ("# a comment", "verson = 1", "mine.toml", "verson: extra inputs"),
        ("# a comment", "a = = 1", "mine.toml", "not TOML: .*line 1"),
        ("# a comment", "rules = 1\n#", "mine.toml", "not TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(before: str, after: str, where: str, words: str) -> None:
    assert GOOD.count(before) == 1
    with pytest.raises(UsageError) as caught:
        read(GOOD.replace(before, after))
    assert caught.value.where == where
    assert re.search(words, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"rules = 1", b"rules = [1]", b"x = " + b"[" * 100_000, b"#" * (1 << 20) + b"#"]
)
def test_what_is_no_file_of_rules_is_one_line(text: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert str(caught.value).startswith("mine.toml: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_page_says_what_each_severity_means_and_its_example_is_a_rule() -> None:
    page = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")
    for severity, meaning in SEVERITIES.items():
        assert f"| {severity} | {meaning} |" in page
    (example,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert read(example).rules[0].signs[0].absent == ("link width ignored",)
