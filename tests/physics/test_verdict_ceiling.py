"""A verdict carries the claim's ceiling beside its kind."""

import json
from pathlib import Path

from runs import Cells, make_run, recording

from auditor.audit import judge_folder
from auditor.core.folder import VERDICT
from auditor.core.judging.verdict import Verdict

DRAFT = recording("llamacpp", "draft/chat_stream_tpt")
IMPOSSIBLE = """\
schema: 1
id: recorded
title: 82 tok/s of a dense 70B on one GB10
hardware: {gpu: dgx-spark-gb10, count: 1}
model: {id: llama-3.3-70b, quantisation: AWQ INT4}
speculation: {method: none}
reported: {value: 82, basis: decode, streams: 1}
"""


def test_impossible_stands_beside_what_was_measured(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Cells(subject=((DRAFT,), (DRAFT,), (DRAFT,))), claim=IMPOSSIBLE)
    judge_folder(folder)
    data = (folder / VERDICT).read_bytes()
    verdict = Verdict.from_json(data)
    assert verdict.ceiling is not None
    assert verdict.ceiling.outcome == "impossible"
    assert verdict.ceiling.hard is not None
    assert verdict.ceiling.hard < 8
    assert verdict.kind.value != "impossible"  # the kind judges the measurement
    assert verdict.to_json() == data


def test_a_verdict_without_one_can_still_be_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Cells(subject=((DRAFT,),)))
    judge_folder(folder)
    older = json.loads((folder / VERDICT).read_bytes())
    del older["ceiling"]
    assert Verdict.from_json(json.dumps(older).encode()).ceiling is None
