"""The documentation of the claim file is true."""

import re
from pathlib import Path

import pytest

from auditor.core.claim.claim import parse_claim
from auditor.core.claim.doc import field_tables

DOC = (Path(__file__).parents[2] / "docs" / "claim-file.md").read_text()


def test_the_table_of_fields_is_the_one_of_the_code() -> None:
    written = DOC.split("<!-- fields -->\n")[1].split("<!-- /fields -->")[0]
    assert written == f"\n{field_tables()}\n", "put the output of `audit claims schema --markdown` there"


def test_every_field_and_word_is_explained() -> None:
    rows = [line for line in field_tables().splitlines() if line.startswith("| `")]
    assert len(rows) > 80
    assert all(re.fullmatch(r"\|( [^|]+ \|){2,3}", row) for row in rows)


@pytest.mark.parametrize("row", re.findall(r"^\| (`.*`.*) \| ([\d.]+) to ([\d.]+)", DOC, re.MULTILINE))
def test_the_readings_of_numbers_are_as_documented(row: tuple[str, str, str]) -> None:
    fields = ", ".join(re.findall(r"`([^`]*)`", row[0]))
    claim = parse_claim(f"schema: 1\nid: a\ntitle: b\nreported: {{{fields}}}", "f")
    assert claim.reported.interval() == (float(row[1]), float(row[2]))
