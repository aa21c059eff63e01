"""`audit init`: a draft from a post, or from a few answers at a real terminal."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.cli import main
from auditor.core.claim.claim import Claim, parse_claim
from auditor.core.post.draft import draft_claim
from auditor.core.post.rates import rates_in, scan_post
from auditor.core.post.scan import Stated, stated_in

POST = """\
## 130-150 tok/s on 4x RTX PRO 6000 with my fork!

Serving nvidia/Qwen3.5-397B-A17B-NVFP4 on SGLang v0.5.8, fork at https://github.com/someone/sglang-sm120 (commit
abc1234de), TP4, MTP=2, acceptance rate 61-85%, accept len 2.7, FP8 KV, 262K context.
Single stream decode is **130 tok/s**; peak 3,945 tok/s; at concurrency 64 output throughput is ~1,240 tok/s and
total throughput 2800 tokens per second. Power limit of 450 W, driver 580.65.06, CUDA 13.0.
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["init", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drafted(post: str) -> Claim:
    return parse_claim(draft_claim(post)[1], "draft")


def test_a_post_becomes_a_valid_claim_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "post.txt").write_text(POST)
    code, out, err = run(capsys, "--post", "post.txt", "--id", "someones-fork")
    assert (code, err) == (0, "")
    assert (
        out == "claims/someones-fork.yaml: a draft; check it, then `audit claims validate claims/someones-fork.yaml`\n"
    )
    text = (folder / "claims" / "someones-fork.yaml").read_text()
    with pytest.raises(SystemExit) as ended:
        main(["claims", "validate", "claims/someones-fork.yaml"])
    assert ended.value.code == 0
    claim = parse_claim(text, "f")
    assert claim.title == "130-150 tok/s on 4x RTX PRO 6000 with my fork!"
    assert (claim.hardware.gpu, claim.hardware.count) == ("rtx-pro-6000-blackwell", 4)
    assert (claim.hardware.power_limit_w, claim.hardware.driver, claim.hardware.cuda) == (450, "580.65.06", "13.0")
    assert (claim.model.id, claim.model.quantisation) == ("Qwen3.5-397B-A17B-NVFP4", "NVFP4")
    assert claim.model.kv_cache_dtype == "FP8"
    assert (claim.engine.name, claim.engine.version, claim.engine.context_length) == ("SGLang", "0.5.8", 262144)
    assert claim.engine.fork.url == "https://github.com/someone/sglang-sm120"
    assert (claim.engine.fork.commit, claim.engine.parallelism.tp) == ("abc1234de", 4)
    speculation = claim.speculation
    assert (speculation.method, speculation.draft_tokens) == ("mtp", 2)
    assert (speculation.acceptance, speculation.acceptance_length) == ((0.61, 0.85), 2.7)
    assert [(c.reported.as_text(), c.reported.basis, c.reported.streams) for c in claim.cases()] == [
        ("130 to 150 tok/s", None, None),
        ("130 tok/s", "decode", 1),
        ("3,945 tok/s", "peak", None),
        ("about 1,240 tok/s", "output", 64),
        ("2,800 tok/s", "total", None),
    ]


def test_each_value_stands_beside_its_words_and_the_rest_is_asked() -> None:
    claim_id, text = draft_claim(POST)
    assert claim_id == "qwen3.5-397b-a17b-nvfp4-130tps"
    for line in (
        '  count: 4   # "4x RTX PRO 6000"',
        '  acceptance: [0.61, 0.85]   # "acceptance rate 61-85%"',
        '      value: 1240   # "~1,240 tok/s"',
        '      streams: 64   # "concurrency 64"',
        '      basis: decode   # "decode"',
    ):
        assert f"{line}\n" in text
    values, questions = text.split("# Still to ask the claimant:\n")
    assert "# - Counter: what counted the tokens" in questions
    assert "# - Edition: Workstation, Max-Q or Server?" in questions
    assert all(line.startswith("# - ") for line in questions.splitlines())
    assert "temperature" not in values


def test_nothing_is_made_up() -> None:
    claim = drafted("I love this model. It is fast!\nNo numbers here, 42 apples, 7 GB/s, K=64 tiles.")
    assert claim.title == "I love this model. It is fast!"
    assert claim.to_json() == Claim(schema_version=1, id=claim.id, title=claim.title).to_json()


@pytest.mark.parametrize(
    ("words", "low", "high", "basis", "streams"),
    [
        ("130+ tok/s", "130", None, None, None),
        ("130–150 t/s", "130", "150", None, None),
        ("up to 1,950 tokens/sec", "1950", None, None, None),
        ("50.5 tok/s sustained decode", "50.5", None, "decode", None),
        ("5,816 tokens per second peak", "5816", None, "peak", None),
        ("37.8 TPS per user", "37.8", None, "per_user", None),
        ("C=32: 1174 tok/s aggregate", "1174", None, "aggregate", 32),
        ("prefill 4000 tok/s", "4000", None, "prefill", None),
        ("4200 t/s PP", "4200", None, "prefill", None),
        ("pp512: 4200.5 t/s", "4200.5", None, "prefill", None),
        ("PP2, TP 4: 130 tok/s", "130", None, None, None),
        ("130 tok/s on a 4k prompt", "130", None, None, None),
        (
            "prompt eval time = 3014.36 ms / 1250 tokens (2.41 ms per token, 414.72 tokens per second)",
            "414.72",
            None,
            "prefill",
            None,
        ),
        ("between 130 and 150 tok/s", "130", "150", None, None),
        ("zwischen 130 und 150 Tokens/s", "130", "150", None, None),
        ("1.1k tok/s", "1100", None, None, None),
        ("1.1k-1.3k tok/s", "1100", "1300", None, None),
        ("64 parallelen Anfragen: 740 Token/s", "740", None, None, 64),
    ],
)
def test_rates_as_people_write_them(
    words: str, low: str, high: str | None, basis: str | None, streams: int | None
) -> None:
    (rate,) = rates_in(words)
    assert (rate.low, rate.high, rate.basis, rate.streams) == (low, high, basis, streams)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("3.740 tok/s insgesamt", "does the comma or point part thousands or decimals?"),
        ("~11,5 Tokens/s je Nutzer", "does the comma or point part thousands or decimals?"),
        ("1.240,5 tok/s", "does the comma or point part thousands or decimals?"),
        ("150-130 tok/s", "is it a range? Its second end is not the higher one"),
        ("1.1-1.3k tok/s", "are both ends in thousands?"),
        ("from 61 to 142 tok/s", "is it a range, or a change from one to the other?"),
        ("decode and prefill 4000 tok/s", "is 4000 tok/s the rate of reading the prompt?"),
        ("prompt 4200 tok/s", "is 4200 tok/s the rate of reading the prompt?"),
    ],
)
def test_a_rate_that_may_be_two_things_is_asked(words: str, why: str) -> None:
    scan = scan_post(words)
    assert scan.rates == ()
    assert [doubt.why for doubt in scan.doubts] == [why]
    claim_text = draft_claim(words)[1]
    assert drafted(words).reported.as_text() == "no number stated"
    assert f"{words.removeprefix('from ').removeprefix('decode and ')}" in claim_text.split("# Still to ask")[1]


def test_a_thousands_comma_is_doubted_beside_a_decimal_comma() -> None:
    assert [rate.low for rate in rates_in("3,945 tok/s")] == ["3945"]
    assert rates_in("3,945 tok/s, also 11,5 tok/s je Nutzer") == ()


def test_a_number_in_thousands_is_rounded_as_written() -> None:
    reported = drafted("1.1k tok/s").reported
    assert (reported.value, reported.rounded_to, reported.interval()) == (1100, 100, (1050, 1150))


OFF, MTP3, OPEN = ("none", None), ("mtp", 3), (None, None)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("61 tok/s without MTP and 142 tok/s with MTP=3", [OFF, MTP3]),
        ("142 tok/s with MTP=3. Without MTP it was 61 tok/s.", [MTP3, OFF]),
        ("Without MTP: 61 tok/s, with MTP=3: 142 tok/s", [OFF, MTP3]),
        ("61 tok/s baseline, 142 tok/s with MTP=3", [OPEN, MTP3]),
        ("I enabled MTP=3. Before: 61 tok/s. After: 142 tok/s", [OPEN, OPEN]),
        ("61 tok/s with MTP off 142 tok/s with MTP=3", [OPEN, MTP3]),
        ("With MTP=2 I get 100 tok/s, with MTP=5 120 tok/s", [("mtp", 2), ("mtp", 5)]),
        ("142,5 tok/s with MTP=3 and 61 tok/s", [OPEN]),
        ("130-150 tok/s with my fork; it was 61 (MTP disabled), MTP=3 helps", [OPEN]),
        ("50 tok/s with no speculative decoding", [OFF]),
        ("MTP=3: 95 t/s vs 60 t/s with spec decode off", [MTP3, OFF]),
        ("MTP=3, acceptance 80%.\nDecode 130 tok/s; peak 150 tok/s", [MTP3, MTP3]),
    ],
)
def test_speculation_is_of_the_row_whose_words_say_so(words: str, rows: list[tuple[str | None, int | None]]) -> None:
    cases = drafted(words).cases()
    assert [(case.speculation.method, case.speculation.draft_tokens) for case in cases] == rows
    if OPEN in rows:
        assert '"MTP=3"' in draft_claim(words)[1].split("# Still to ask")[1]


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("61 tok/s without MTP and 142 tok/s with MTP", [OFF, MTP3]),
        ("61 tok/s without MTP", [OFF]),
        ("142 tok/s with MTP", [MTP3]),
    ],
)
def test_an_answer_about_drafts_is_not_of_a_rate_without_them(
    words: str, rows: list[tuple[str | None, int | None]]
) -> None:
    _, text = draft_claim(words, answers=[Stated("speculation.draft_tokens", "3", "answered")])
    cases = parse_claim(text, "f").cases()
    assert [(case.speculation.method, case.speculation.draft_tokens) for case in cases] == rows


def test_a_basis_is_of_the_nearer_rate() -> None:
    rates = rates_in("130 tok/s decode, 4000 tok/s prefill and 2800 tok/s peak")
    assert [rate.basis for rate in rates] == ["decode", "prefill", "peak"]


@pytest.mark.parametrize(
    ("words", "engine", "rival"),
    [
        ("40 tok/s, way faster than stock llama.cpp", None, "llama.cpp"),
        ("stock vLLM is slow, my SGLang does 40 tok/s", "SGLang", "vLLM"),
        ("SGLang vs vLLM: 40 tok/s", "SGLang", "vLLM"),
        ("40 tok/s on SGLang compared with 20 tok/s on Ollama", "SGLang", "Ollama"),
        ("faster than before with vLLM, 40 tok/s", "vLLM", None),
        ("better than Ollama\nvLLM does 40 tok/s", "vLLM", "Ollama"),
        ("better than Ollama. vLLM does 40 tok/s", "vLLM", "Ollama"),
    ],
)
def test_a_rival_is_not_the_engine(words: str, engine: str | None, rival: str | None) -> None:
    text = draft_claim(words)[1]
    assert parse_claim(text, "f").engine.name == engine
    assert (f"; {rival} is what the claim is set against" in text) == (rival is not None)


@pytest.mark.parametrize(
    ("words", "model"),
    [
        ("Kimi K2 Thinking at 40 tok/s", "Kimi K2 Thinking"),
        ("Kimi K2 thinking at 40 tok/s", None),
        ("Kimi K2 at 40 tok/s", "Kimi K2"),
        ("Qwen3 Coder 480B A35B at 40 tok/s", "Qwen3 Coder 480B A35B"),
        ("Qwen3-30B and GLM-4.6 at 40 tok/s", None),
    ],
)
def test_a_model_by_its_whole_name(words: str, model: str | None) -> None:
    assert drafted(words).model.id == model


def test_what_posts_say_of_hardware_and_drafts() -> None:
    claim = drafted(
        "llama-server with `--draft-max 8` on two 5090s, 300W power limit, PCIe 5.0, acceptance rate around 78%"
    )
    assert (claim.hardware.gpu, claim.hardware.count, claim.hardware.link) == ("rtx-5090", 2, "PCIe 5.0")
    assert (claim.hardware.power_limit_w, claim.engine.name) == (300, "llama.cpp")
    assert (claim.speculation.draft_tokens, claim.speculation.acceptance) == (8, 0.78)


def test_versions_and_acceptance_are_read_as_posts_shorten_them() -> None:
    claim = drafted("130 tok/s on a 5090s rig, driver 580, CUDA 13, spec acceptance ~70%; we accept 100% of patches")
    assert (claim.hardware.driver, claim.hardware.cuda, claim.speculation.acceptance) == ("580", "13", 0.7)
    none = drafted("130 tok/s, CUDA 128 cores, driver 7800 lines")
    assert none.hardware is None or (none.hardware.driver, none.hardware.cuda) == (None, None)


def test_a_long_title_ends_with_a_word() -> None:
    title = drafted(f"{'fast ' * 22}forked vllm wins again").title
    assert len(title) <= 120
    assert title.endswith("forked…")


@pytest.mark.parametrize("words", ["130 GB/s", "356 TFLOPS", "0 tok/s", "v1.2.3 tok/s", "12 ms per token", "-5 tok/s"])
def test_what_is_no_rate(words: str) -> None:
    assert rates_in(words) == ()


@pytest.mark.parametrize(
    ("words", "gpu", "count"),
    [
        ("4x RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-blackwell-ws", 4),
        ("dual RTX PRO 6000 Max-Q", "rtx-pro-6000-blackwell-maxq", 2),
        ("2×5090", "rtx-5090", 2),
        ("eight H200", "h200", 8),
        ("dual 5090", "rtx-5090", 2),
        ("two 5090s", "rtx-5090", 2),
        ("4 RTX 5090s", "rtx-5090", 4),
        ("vLLM 17 H200", "h200", None),
        ("more than an H100 SXM", None, None),
        ("an RTX 5070 Ti", "rtx-5070-ti", None),
        ("a DGX Spark", "dgx-spark-gb10", None),
    ],
)
def test_gpus_by_name(words: str, gpu: str | None, count: int | None) -> None:
    found = {item.field: item.value for item in stated_in(words)}
    assert (found.get("hardware.gpu"), found.get("hardware.count")) == (gpu, count)


def test_two_answers_are_shown_and_neither_is_taken() -> None:
    _, text = draft_claim("100 tok/s on 4x RTX 5090 with vLLM, or 8x RTX 5090 with SGLang")
    claim = parse_claim(text, "f")
    assert (claim.hardware.gpu, claim.hardware.count, claim.engine.name) == ("rtx-5090", None, None)
    assert '# - hardware.count: the post says "4x RTX 5090", "8x RTX 5090"; which of them' in text
    assert '# - engine.name: the post says "vLLM", "SGLang"; which of them' in text


def test_a_file_is_never_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "post.txt").write_text(POST)
    (folder / "mine.yaml").write_text("mine")
    code, _, err = run(capsys, "--post", "post.txt", "--out", "mine.yaml")
    assert (code, (folder / "mine.yaml").read_text()) == (2, "mine")
    assert err.startswith("audit: mine.yaml: exists already; ")
    (folder / "dangling.yaml").symlink_to(folder / "elsewhere.yaml")
    assert run(capsys, "--post", "post.txt", "--out", "dangling.yaml")[0] == 2
    assert not (folder / "elsewhere.yaml").exists()
    assert run(capsys, "--post", "post.txt")[0] == 0
    assert run(capsys, "--post", "post.txt")[0] == 2


def test_bad_input_is_one_line_and_2(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "post.txt").write_text(POST)
    (folder / "empty.txt").write_text(" \n")
    (folder / "long.txt").write_text("a" * 100_001)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    for arguments, words in (
        ([], "nothing to draft from; give --post FILE"),
        (["--post", "gone.txt"], "gone.txt: cannot be read"),
        (["--post", "empty.txt"], "empty.txt: is empty"),
        (["--post", "long.txt"], "long.txt: longer than 100,000 characters"),
        (["--post", "-"], "-: is empty"),
        (["--post", "post.txt", "--id", "Not An Id"], "--id 'Not An Id' must be at most 64 small letters"),
        (
            ["--post", "post.txt", "--out", "no/such/folder.yaml"],
            "no/such/folder.yaml: cannot be written: No such file",
        ),
    ):
        code, out, err = run(capsys, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err


def test_standard_input_to_standard_output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(POST.encode())))
    code, out, _ = run(capsys, "--post", "-", "--out", "-")
    assert code == 0
    assert parse_claim(out, "f").hardware.count == 4
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(POST.encode())))
    _, document, _ = run(capsys, "--post", "-", "--out", "-", "--json")
    assert json.loads(document) == {"id": parse_claim(out, "f").id, "path": None, "text": out}


def test_a_secret_in_a_post_is_not_carried_over() -> None:
    _, text = draft_claim("hf_abcdefghijklmnopqrstuvwx is my token, 130 tok/s on vLLM 0.17.0")
    assert "abcdefghij" not in text


HOSTILE = st.text() | st.lists(
    st.sampled_from([*POST.split(), "\n", "#", '"', "\\", "\x85", "\u2028", "\ufffe", "\x1b[31m", "~", "- ", ": ", "{", "4x", "5090", "tok/s", "MTP=0", "MTP=3", "without MTP", "and", "61 tok/s", "1.1k", "78% acceptance", "than", "PP", "11,5", "Kimi K2", ","])
).map(" ".join)  # fmt: skip


@settings(max_examples=200)
@given(HOSTILE)
def test_every_draft_is_a_valid_claim(post: str) -> None:
    claim_id, text = draft_claim(post)
    assert parse_claim(text, "draft").id == claim_id


def test_a_few_questions_at_a_terminal(folder: Path) -> None:
    answers = [
        "My fork does 130 tok/s on 4x RTX 5090",
        "",
        "ftp://nowhere",  # refused, asked again
        "https://example.org/post",
        "forum post",
        "some-model",
        "",
        "vLLM",
        "fast",  # refused, asked again
        "decode",
        "1",
        "none",
    ]
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "audit"), "init", "--out", "asked.yaml"],
            cwd=folder,
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
        out, err = process.communicate(timeout=60)
    finally:
        os.close(master)
        os.close(slave)
    assert process.returncode == 0, err
    assert out.decode().strip() == "asked.yaml: a draft; check it, then `audit claims validate asked.yaml`"
    assert b"must be an address that begins with http://" in err
    assert b"reported.basis is 'fast'" in err
    claim = parse_claim((folder / "asked.yaml").read_text(), "f")
    assert claim.title == answers[0]
    assert (claim.source.url, claim.source.kind) == ("https://example.org/post", "forum post")
    assert (claim.hardware.gpu, claim.hardware.count) == ("rtx-5090", 4)
    assert (claim.model.id, claim.engine.name, claim.speculation.method) == ("some-model", "vLLM", "none")
    assert (claim.reported.value, claim.reported.basis, claim.reported.streams) == (130, "decode", 1)
