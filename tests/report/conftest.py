"""Judged run folders, made once."""

from pathlib import Path

import pytest
from made_runs import Made, make_run

MARKUP = "</script></title><svg onload=alert(1)> & <b>'"
"""What a claim may hold, whose control characters are refused."""
HOSTILE = MARKUP + "\u202e\u2028"
"""What a server or a model may send."""


def hostile_claim() -> str:
    """A claim whose every text is hostile."""
    quoted = f'"{MARKUP}"'
    return f"""\
schema: 1
id: hostile
title: {quoted}
source: {{url: "https://forum.example/t/1?a=1&b=2", kind: forum post}}
disputed_by: {quoted}
hardware: {{gpu: {quoted}, count: 4}}
model: {{id: {quoted}}}
engine: {{name: {quoted}}}
reported: {{value: 130}}
"""


def hostile_word(index: int) -> str:
    """What the model of the hostile run says."""
    return ("\x00", "\x1b[31m", HOSTILE, "\u2028", "عربي\u202e", "]]>", "{{ view }}", "```")[index % 8]


RUNS = {
    "spec": Made(plain=True),
    "generic": Made(kind="generic"),
    "silent": Made(is_silent=True, rounds=2, is_finished=False),
    "partial": Made(rounds=1, is_finished=False),
    "hostile": Made(
        claim=hostile_claim(), word=hostile_word, model=HOSTILE + "x" * 300, command=f"audit run `{HOSTILE}`"
    ),
    "garbage": Made(claim="schema: 1\nid: garbage\ntitle: It printed NaN\nreported: {outcome: nan}\n", plain=True),
    "single": Made(repeats=1, tokens=2),
}
"""The runs that every report must cope with."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One judged folder of each kind; do not change them."""
    root = tmp_path_factory.mktemp("runs")
    return {name: make_run(root / name, made) for name, made in RUNS.items()}


@pytest.fixture(params=sorted(RUNS))
def any_run(request: pytest.FixtureRequest, runs: dict[str, Path]) -> Path:
    """Each of the runs in turn."""
    return runs[request.param]
