"""Patterns that may run away are refused; those that are taken find what Python's own search finds, and fast."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.reference.linepatterns import MOST_CHARACTERS, line_pattern


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a.*b", "without bound"),
        ("a+", "without bound"),
        ("a{3,}b", "without bound"),
        ("a{,}b", "without bound"),
        ("a?+b", "without bound"),
        (r"(a)b\1", "refers back"),
        ("(?P<x>a)(?P=x)", "refers back"),
        ("(?:a{0,9}){0,9}b", "repeats a group"),
        ("(?:a|b){2,9}c", "repeats a group"),
        ("((a?)){5}c", "repeats a group"),
        ("a.{0,90}b.{0,90}c", "2,000 ways"),
        ("x(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)(?:a|b)", "2,000 ways"),
        ("(a", "not a regular expression"),
        ("[[:digit:]]x", "not a regular expression"),
        ("a?", "every line"),
        ("a|", "every line"),
        ("", "characters"),
        ("a" * 1001, "characters"),
        (r"a\x41", "write the character itself"),
        ("(?>a)b", "not allowed"),
    ],
)
def test_a_pattern_that_may_run_away_or_is_wrong_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        line_pattern(pattern)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        ("cuda graph: False", "cuda graph: False"),
        (r"Decode batch.{0,600}cuda graph: False", "cuda graph: False"),
        (r"layout\.hpp:\d{1,4}", "layout.hpp:"),
        ("colou?red", "colo"),
        ("ab{0,2}cde", "cde"),
        ("one|three", ""),
        ("(?:one|three) four", " four"),
        ("(?i)error", ""),
        ("(?!error)xyz", "xyz"),
        (r"a[b\]c]d ef", "d ef"),
        ("{'a': 1}", "{'a': 1}"),
    ],
)
def test_the_needle_is_what_every_match_holds(pattern: str, needle: str) -> None:
    assert line_pattern(pattern).needle == needle


PIECES = st.sampled_from(
    ["a", "b", r"\.", "[ab]", ".", r"\d", "a?", "b{0,2}", "(?:a|bc)", "(?i:A)", "(?!b)", "a{2}", "(?:ab)?", "c|"]
)


@given(st.lists(PIECES, min_size=1, max_size=5).map("".join), st.text("aAbBc.1 ", max_size=12))
def test_it_finds_what_search_finds(pattern: str, line: str) -> None:
    try:
        taken = line_pattern(pattern)
    except ValueError:
        return
    match = re.search(pattern, line)
    assert taken.find(line) == (match[0] if match else None)


def test_what_lies_beyond_the_cap_is_not_seen() -> None:
    pattern = line_pattern("end of line")
    assert pattern.find("x" * (MOST_CHARACTERS - 11) + "end of line") == "end of line"
    assert pattern.find("x" * MOST_CHARACTERS + "end of line") is None


def test_the_bundled_patterns_do_not_run_away_on_lines_made_for_them() -> None:
    """Each in a process of its own, which a pattern that backtracks without end would not leave."""
    code = """
from auditor.core.observed import FACT_NAMES
from auditor.reference.traps import bundled_traps, pattern_of
for text in {text for rule in bundled_traps(FACT_NAMES).rules for text in rule.patterns}:
    pattern = pattern_of(text)
    for start in (pattern.needle, pattern.needle[:-1], text.split("{")[0].split("[")[0].split("(")[0], "'", "a", " "):
        pattern.find((start + "_") * 20_000 + pattern.needle)
        pattern.find(start * 20_000 + pattern.needle)
        pattern.find(start + "deepgemm " * 20_000 + pattern.needle)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "done\n"
