"""A bad claim file gives one line: where, what, and what is allowed."""

import pytest

from auditor.core.claim.claim import parse_claim, problems_of
from auditor.core.claim.text import MAX_BYTES
from auditor.errors import ClaimError, Exit

HEAD = "schema: 1\nid: a\ntitle: b\n"


def said(text: str) -> str:
    with pytest.raises(ClaimError) as caught:
        parse_claim(text, "dir/claim.yaml")
    assert caught.value.exit_code is Exit.USAGE
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix("dir/claim.yaml:")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "1: the file is empty"),
        ("# only words\n", "1: the file is empty"),
        ("just words", "1: a claim is a mapping of fields"),
        ("- 1", "1: a claim is a mapping of fields"),
        ("id: a\ntitle: b", "1: schema is missing"),
        ("schema: 1\ntitle: b", "1: id is missing"),
        ("schema: 2\nid: a\ntitle: b", "1: schema is 2; allowed: 1"),
        ("schema: 1\nid: Fork 130\ntitle: b", "2: id must be at most 64 small letters and digits"),
        ("schema: 1\nid: ../x\ntitle: b", "2: id must be at most 64"),
        (f"schema: 1\nid: {'a' * 65}\ntitle: b", "2: id must be at most 64"),
        ('schema: 1\nid: a\ntitle: "two\\nlines"', "3: title must be one line of text"),
        (HEAD + "hardwear:\n  gpu: x", "4: unknown field hardwear; did you mean hardware?"),
        (HEAD + "hardware:\n  gpu: x\n  zzzz: 4", "6: unknown field hardware.zzzz; allowed: count, cuda, driver, gpu"),
        (HEAD + "schema_version: 1", "4: unknown field schema_version; did you mean schema?"),
        (HEAD + "measurements:\n- id: x\n  modle: {}", "6: unknown field measurements[0].modle; did you mean model?"),
        (HEAD + "hardware: {count: four}", "4: hardware.count must be a whole number, not 'four'"),
        (HEAD + "hardware: {count: 1.5}", "4: hardware.count must be a whole number, not 1.5"),
        (HEAD + "hardware: {count: -4}", "4: hardware.count must be at least 1, not -4"),
        (HEAD + "hardware: {count: 0}", "4: hardware.count must be at least 1, not 0"),
        (HEAD + "hardware: {count: 100001}", "4: hardware.count must be at most 100000, not 100001"),
        (HEAD + "hardware: {power_limit_w: -300}", "4: hardware.power_limit_w must be more than 0"),
        (HEAD + "hardware: 4x RTX", "4: hardware must be a mapping of fields"),
        (HEAD + "title2: x\nid: b", "5: id is given twice, first on line 2; keep one"),
        (HEAD + "reported: {value: -1}", "4: reported.value must be more than 0"),
        (HEAD + "reported: {value: 0}", "4: reported.value must be more than 0"),
        (HEAD + "reported: {value: 1000000001}", "4: reported.value must be more than 0 and at most 1,000,000,000"),
        (HEAD + "reported: {value: 99999999999999999999999}", "4: reported.value must be more than 0"),
        (HEAD + "reported: {value: 1e999}", "4: 1e999 is too large for a number"),
        (HEAD + "reported: {value: .nan}", "4: .nan is not a number; state 'outcome: nan'"),
        (HEAD + "reported: {value: -.inf}", "4: -.inf is not a number"),
        (HEAD + "reported: {value: true}", "4: reported.value must be a number, not True"),
        (HEAD + "reported:\n  value: 1,950", "5: reported.value must be a number, not '1,950'"),
        (HEAD + "reported: {value: '130'}", "4: reported.value must be a number, not '130'"),
        (HEAD + "reported: {range: [150, 130]}", "4: reported.range must begin with the smaller number"),
        (HEAD + "reported: {range: [1, 2, 3]}", "4: reported.range must be a list of two numbers, [low, high]"),
        (HEAD + "reported: {value: 1, range: [1, 2]}", "4: reported has a value and a range"),
        (HEAD + "reported: {value: 1, outcome: nan}", "4: reported says outcome nan and gives a number"),
        (HEAD + "reported: {basis: fast}", "4: reported.basis is 'fast'; allowed: decode, request, output, total"),
        (HEAD + "reported: {unit: ms}", "4: reported.unit is 'ms'; allowed: tok/s"),
        (HEAD + "speculation: {acceptance: 61}", "4: speculation.acceptance must be at least 0 and at most 1; 61 % is written 0.61"),
        (HEAD + "speculation: {acceptance: [0.8, 1.1]}", "4: speculation.acceptance must be at least 0 and at most 1"),
        (HEAD + "speculation: {acceptance_length: 0.5}", "4: speculation.acceptance_length must be at least 1"),
        (HEAD + "speculation: {method: off}", "4: speculation.method says no speculation; write 'none'"),
        (HEAD + "speculation: {method: none, draft_tokens: 2}", "4: speculation says method none and describes speculation"),
        (HEAD + "source: {date: 12 May}", "4: source.date must look like 2026-03-12"),
        (HEAD + "source: {url: 'javascript:alert(1)'}", "4: source.url must be an address that begins with http://"),
        (HEAD + "server: {url: 'http://h/v1?key=1'}", "4: server.url must be a base address, without a query"),
        (HEAD + "engine: {fork: {commit: main}}", "4: engine.fork.commit must look like 0a1b2c3"),
        (HEAD + "measurements:\n- id: x\n- id: x", "6: measurement x is given twice, first on line 5"),
        (HEAD + "measurements:\n- title: x", "5: measurements[0].id is missing"),
        (
            HEAD + "speculation: {draft_tokens: 2}\nmeasurements:\n- id: x\n- id: y\n  reported: {value: 1}\n  speculation: {method: none, acceptance: 1}",
            "9: measurements[1].speculation says method none",
        ),
        ("schema: 1\nid: a\n\ttitle: b", "3: a tab begins the line; indent with spaces"),
        ("schema: 1\nid: a: b", "2: not YAML: mapping values are not allowed"),
        ("schema: 1\nid: [a", "2: not YAML: "),
        (HEAD + "---\nschema: 1", "4: a second document begins"),
        (HEAD + "? [a, b]\n: 1", "4: a field name must be a short word"),
        ("schema: 1\nid: a\ntitle: a\x07b", "3: character U+0007 is not allowed"),
        ('schema: 1\nid: a\ntitle: "\\e[31mred"', "3: control characters are not allowed in a text"),
        ('schema: 1\nid: a\ntitle: "\\u202eright to left"', "3: control characters are not allowed"),
        ("schema: 1\nid: a\ntitle: \ud800", "3: character U+D800 is not allowed"),
    ],
)  # fmt: skip
def test_one_line_says_where_and_what(text: str, line: str) -> None:
    assert said(text).startswith(line)


def test_every_problem_is_found_in_the_order_of_the_file() -> None:
    text = HEAD + "source: {date: soon}\nhardware: {count: 0, gpus: 1}\nreported: {basis: fast}\n"
    assert [str(error).split(" ")[:2] for error in problems_of(text, "f")] == [
        ["f:4:", "source.date"],
        ["f:5:", "hardware.count"],
        ["f:5:", "unknown"],
        ["f:6:", "reported.basis"],
    ]
    assert problems_of(HEAD, "f") == []


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]",
        "<<: *x",
        "a: &x 1",
    ],
)
def test_anchors_and_aliases_are_refused(text: str) -> None:
    assert "anchors and aliases are not allowed" in said(HEAD + text)


def test_tags_are_refused() -> None:
    assert "the tag 'tag:yaml.org,2002:python/name:os.system' is not allowed" in said(
        HEAD + "notes: !!python/name:os.system x"
    )


def test_a_bomb_of_nesting_is_refused_at_once() -> None:
    assert "deeper than 12 levels" in said(HEAD + "notes: " + "[" * 500 + "]" * 500)
    assert said(HEAD + "notes: " + "{a: " * 300_00).startswith("4: ")
    assert "more than 50,000 values" in said(HEAD + "notes: [" + "1, " * 60_000 + "]")


def test_size_is_limited() -> None:
    assert said(HEAD + "#" * MAX_BYTES).startswith("1: larger than 1,000,000 bytes")
    assert said(HEAD + "# " + "é" * (MAX_BYTES // 2)).startswith("1: larger than 1,000,000 bytes")
    assert said(HEAD + "notes: " + "x" * 20_001).startswith("4: a text longer than 20,000 characters")


@pytest.mark.parametrize(
    "text",
    [
        "engine: {env: {HF_TOKEN: abcdef}}",
        "engine: {env: {OPENAI_API_KEY: abcdef}}",
        "engine: {argv: [serve, --api-key, abcdef]}",
        "engine: {argv: [serve, --api-key=abcdef]}",
        "notes: my token is hf_abcdefghijklmnopqrstuvwx",
        "server: {url: 'http://me:abcdef@host/v1'}",
    ],
)
def test_a_secret_is_refused_and_not_repeated(text: str) -> None:
    line = said(HEAD + text)
    assert line.startswith("4: ")
    assert "abcdef" not in line


@pytest.mark.parametrize(
    "text",
    ["engine: {env: {HF_TOKEN: '***'}}", "engine: {env: {MAX_TOKENS: '5'}}", "engine: {argv: [--api-key, <key>]}"],
)
def test_what_only_looks_like_a_secret_passes(text: str) -> None:
    assert parse_claim(HEAD + text, "f").engine != parse_claim(HEAD, "f").engine


def test_numbers_that_are_text_are_taken_as_written() -> None:
    claim = parse_claim(
        HEAD + "source: {date: 2026}\nengine:\n  version: 0.10\n  env: {NCCL_P2P_DISABLE: 1}\n"
        "  argv: [--tp, 4, --fast, true]\n  fork: {commit: 1234567}\n",
        "f",
    )
    assert (claim.source.date, claim.engine.version, claim.engine.fork.commit) == ("2026", "0.10", "1234567")
    assert claim.engine.env == {"NCCL_P2P_DISABLE": "1"}
    assert claim.engine.argv == ("--tp", "4", "--fast", "true")


def test_a_heading_with_nothing_under_it_is_empty() -> None:
    text = HEAD + "hardware:\nengine:\n  env:\n  argv:\n  fork:\nmeasurements:\ndisputer_says:\n"
    assert parse_claim(text, "f").case(None) == parse_claim(HEAD, "f").case(None)


def test_words_of_yaml_1_1_are_words() -> None:
    claim = parse_claim(HEAD + "hardware: {link: no}\nengine: {version: 1_000, image: 12:30:45}", "f")
    assert (claim.hardware.link, claim.engine.version, claim.engine.image) == ("no", "1_000", "12:30:45")


def test_windows_line_ends_and_a_byte_order_mark_are_no_trouble() -> None:
    assert parse_claim("\ufeff" + HEAD.replace("\n", "\r\n"), "f") == parse_claim(HEAD, "f")
