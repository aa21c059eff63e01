"""A reports tree of a dozen real and made audits, and what the tests of the site share beside it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
from runs import Cells, make_run, recording

from auditor.audit import judge_folder, judged
from auditor.core.amendment import Amendment
from auditor.core.counting.rounds import scrape_lines
from auditor.core.counting.tokenlog import to_jsonl, token_lines
from auditor.core.folder import AMENDMENTS, LEDGER, MANIFEST, METRICS, RUN, TOKENS, VERDICT, RunFolder, RunRecord
from auditor.core.record import canonical_json, sha256
from auditor.report.site.entries import Audits, ClaimCard, Entry, Fact, Figure
from auditor.terms import VerdictKind

ROOT = Path(__file__).parents[2]
H200 = ROOT / "tests" / "data" / "h200" / "telemetry"
EXAMPLE = ROOT / "reports" / "example"
MARKUP = "</script></title></text><svg onload=alert(1)> & <b>'"
"""What a claim may hold, whose control characters are refused."""
DAY_NS = 86_400 * 10**9
START_NS = 1_796_000_000 * 10**9


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    stdout: str
    stderr: str


Audit = Callable[..., Said]


def claim_text(name: str, title: str, more: str = "", value: str = "reported: {value: 130}") -> str:
    """A claim file; title and fields are quoted by JSON, which YAML reads."""
    source = '{url: "https://forum.example/t/1?a=1&b=2", kind: forum post, date: 2026-03}'
    return f"schema: 1\nid: {name}\ntitle: {json.dumps(title)}\nsource: {source}\n{more}{value}\n"


def hostile_claim() -> str:
    """A claim whose every text is hostile."""
    quoted = json.dumps(MARKUP)
    fields = f"disputed_by: {quoted}\nnotes: {quoted}\nhardware: {{gpu: {quoted}, count: 4}}\nmodel: {{id: {quoted}}}\n"
    fields += f"engine: {{name: {quoted}, fork: {{name: {quoted}}}}}\nspeculation: {{method: ngram}}\n"
    return claim_text("hostile", MARKUP, fields)


def recorded(
    folder: Path, run: str, claim: str, *, after_days: int = 0, judge: bool = True, plain: bool = False
) -> Path:
    """A run folder of a recorded stream, under a name and a time of its own."""
    one = recording("llamacpp", "plain/chat_stream_tpt" if plain else "draft/chat_stream_tpt")
    case = orjson.loads(json.dumps(claim.partition("\nid: ")[2].partition("\n")[0]))
    make_run(folder, Cells(subject=((one,), (one,))), claim=claim, case=case)
    rename(folder, run, after_days=after_days)
    if judge:
        judge_without_page(folder)
    return folder


def judge_without_page(folder: Path) -> None:
    """As `judge_folder`, without the report, whose charts take a second."""
    account, verdict = judged(folder)
    (folder / LEDGER).write_bytes(account.ledger.to_json())
    (folder / TOKENS).write_bytes(to_jsonl(token_lines(account.counted)))
    (folder / METRICS).write_bytes(to_jsonl(scrape_lines(account.scrapes)))
    (folder / VERDICT).write_bytes(verdict.to_json())
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))


def rename(folder: Path, run: str, *, after_days: int) -> None:
    """Give a run another name and time."""
    record = RunFolder(folder).run()
    started_ns = START_NS + after_days * DAY_NS
    changed = {"run": run, "started_ns": started_ns, "command": f"audit run {MARKUP}"}
    (folder / RUN).write_bytes(RunRecord.model_validate({**record.model_dump(), **changed}).to_json())
    if (folder / MANIFEST).exists():
        (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))


def amend(folder: Path, *said: tuple[str, str]) -> None:
    """Add amendments, each a kind and a text, as they are kept: each line bound to the one before."""
    previous, lines = sha256((folder / RUN).read_bytes()), []
    for seq, (kind, text) in enumerate(said, 1):
        one = Amendment.model_validate(
            {
                "seq": seq, "kind": kind, "text": text, "by": "the claimant <b>", "url": "https://forum.example/t/1",
                "at": "2026-11-10T12:00:00+00:00", "at_ns": START_NS + (seq + 20) * DAY_NS,
                "verdict": sha256((folder / VERDICT).read_bytes()), "previous": previous,
            }
        )  # fmt: skip
        lines.append(one.line())
        previous = sha256(lines[-1])
    (folder / AMENDMENTS).write_bytes(b"".join(lines))
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))


def make_tree(reports: Path) -> Path:
    """A dozen audits: real runs, recorded ones, hostile, amended, damaged, unjudged and imported ones."""
    reports.mkdir(parents=True)
    shutil.copytree(EXAMPLE, reports / "example")
    measured = reports / "pro6000-smol" / orjson.loads((H200 / RUN).read_bytes())["run"]
    shutil.copytree(H200, measured)
    judge_folder(measured)
    smol = "hardware: {gpu: rtx-5090, count: 2}\nmodel: {id: SmolLM2-135M-Instruct}\nengine: {name: llama.cpp, fork: {url: 'https://git.example/ann/llama.cpp.git', commit: abcdef1}}\nspeculation: {method: draft, draft_tokens: 4}\n"
    two = claim_text("two-runs", "130 tok/s, measured twice", smol)
    recorded(reports / "two-runs" / "first-1", "first-1", two)
    amend(
        reports / "two-runs" / "first-1",
        ("reply", "Your card was throttled.\nSee my log."),
        ("withdrawal", "The wrong model was served."),
    )
    recorded(reports / "two-runs" / "second-2", "second-2", two, after_days=9)
    amend(reports / "two-runs" / "second-2", ("correction", "The driver was 575, not 570."))
    judge_folder(recorded(reports / "hostile" / "hostile-1", "hostile-1", hostile_claim(), after_days=3))
    amend(reports / "hostile" / "hostile-1", ("reply", MARKUP))
    low = claim_text("low", "0.5 tok/s", "", "reported: {value: 0.5, basis: decode}")
    recorded(reports / "low" / "low-1", "low-1", low, after_days=4, plain=True)
    recorded(reports / "low" / "unjudged", "unjudged", low, after_days=5, judge=False)
    changed = Path(shutil.copytree(reports / "low" / "low-1", reports / "low" / "changed"))
    rename(changed, "changed", after_days=6)
    (changed / VERDICT).write_bytes((changed / VERDICT).read_bytes().replace(b'"kind"', b'"kinds"'))
    broken = reports / "low" / "broken"
    broken.mkdir()
    (broken / RUN).write_bytes(b"\xff{")
    (reports / "notes").mkdir()
    (reports / "notes" / "todo.txt").write_text("no audit")
    return reports


def many_audits(number: int) -> Audits:
    """So many made-up audits, as a site of years would hold."""
    verdicts = [kind.value for kind in VerdictKind]
    entries, claims = [], {}
    for index in range(number):
        name, rate = f"claim-{index}", 100 + index * 7 % 900
        claims[name] = ClaimCard(id=name, title=f"Claim number {index}")
        entries.append(
            Entry(
                kind="run", id=f"20261201T{index:06}Z-abcd", slug=f"20261201T{index:06}Z-abcd", claim=name,
                title=f"Claim number {index}", claimed=Figure(text=f"{rate} tok/s", value=rate),
                delivered=Figure(text=f"{rate * 0.8:.1f}", value=rate * 0.8, note="95 %: 90 to 110, n = 3"),
                factor=Figure(text=f"{1 + index % 50 / 10}", value=1 + index % 50 / 10),
                verdict=verdicts[index % len(verdicts)], sentence="Delivered less than that.", said="x",
                hardware=Fact(stated=f"{index % 8 + 1} × RTX PRO 6000 Blackwell Workstation Edition"),
                model=Fact(stated="qwen3.5-397b-a17b NVFP4", observed="Qwen3.5-397B-A17B-NVFP4"),
                engine=Fact(stated="vLLM 0.17.0 (fork)"), speculation=Fact(stated=f"mtp, k = {index % 5}"),
                started="2026-12-01T00:00:00+00:00", started_ns=START_NS + index,
            )
        )  # fmt: skip
    return Audits(entries=tuple(entries), claims=claims)
