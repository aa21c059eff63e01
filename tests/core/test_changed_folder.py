"""A run folder that was changed after it was judged is refused, and says which file."""

import json

import pytest
from runs import Cells, recording

from auditor.audit import judge_folder
from auditor.cli.judge import report
from auditor.core.folder import MANIFEST
from auditor.errors import EvidenceError


@pytest.fixture
def judged(recorded_run):
    where = "llamacpp"
    stream = recording(where, "draft/chat_stream_tpt")
    folder = recorded_run(Cells(subject=((stream,),)))
    judge_folder(folder)
    return folder


@pytest.mark.parametrize("name", ["claim.yaml", "plan.json", "facts.json", "wire.zst"])
def test_changed_evidence_is_not_judged(judged, name):
    data = bytearray((judged / name).read_bytes())
    data[len(data) // 2] ^= 1
    (judged / name).write_bytes(data)
    before = (judged / MANIFEST).read_bytes()
    with pytest.raises(EvidenceError, match=r"was changed since it was written") as caught:
        judge_folder(judged)
    assert name in str(caught.value)
    assert caught.value.exit_code == 1
    assert (judged / MANIFEST).read_bytes() == before, "what was changed is not signed again"


def test_a_falsified_verdict_is_not_reported(judged):
    path = judged / "verdict.json"
    path.write_bytes(path.read_bytes().replace(b'"exit_code": ', b'"exit_code":  '))
    with pytest.raises(EvidenceError, match=r"verdict\.json: was changed"):
        report.main([str(judged), "--markdown"], standalone_mode=False)


def test_a_judged_folder_is_judged_again_and_its_manifest_holds(judged):
    judge_folder(judged)
    digests = json.loads((judged / MANIFEST).read_bytes())
    assert {"wire.zst", "verdict.json", "report.html"} <= set(digests)
    report.main([str(judged)], standalone_mode=False)
    assert json.loads((judged / MANIFEST).read_bytes()).keys() == digests.keys()
