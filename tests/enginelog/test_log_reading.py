"""What a whole log says: facts, rates, witnesses; and that noise changes nothing."""

import random
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.enginelogs import (
    ENGINES,
    Artefact,
    Interval,
    LogReader,
    LogReading,
    WitnessKind,
    backing,
    entries_of,
    witnesses,
)

DATA = Path(__file__).parent / "data"
ARTEFACT = Artefact(name="engine.log", sha256="ab" * 32, size=7)
SM120 = "vllm-0.20-sm120-mtp3.log"


def read(data: bytes, **options: object) -> tuple[LogReading, tuple[Interval, ...]] | None:
    reader = LogReader(**options)  # type: ignore[arg-type]
    for line in data.splitlines(keepends=True):
        reader.add(line)
    return reader.finish(ARTEFACT)


def of_file(name: str, **options: object) -> tuple[LogReading, tuple[Interval, ...]]:
    found = read((DATA / name).read_bytes(), **options)
    assert found is not None
    return found


def test_what_a_real_sm120_log_says_of_its_server() -> None:
    reading = of_file(SM120)[0]
    values = {name: fact.value for name, fact in reading.facts.items()}
    assert values == {
        "version": "0.20.2rc1.dev249+glmkimirebase20260514",
        "model": "lukealonso/GLM-5.1-NVFP4-MTP",
        "quantisation": "modelopt_fp4",
        "kv_cache_dtype": "fp8",
        "context_length": 202752,
        "tensor_parallel": 8,
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "speculation": True,
        "speculation_method": "mtp",
        "draft_tokens": 3,
        "moe_backend": "B12X",
        "attention_backend": "B12X_MLA_SPARSE",
    }
    assert reading.facts["moe_backend"].source == "line 25, MoE backend line"
    assert [sign.text for sign in reading.signs if sign.is_grave] == [
        "VLLM_SPEC_ACCEPT_THRESHOLD_SINGLE",
        "VLLM_SPEC_ACCEPT_THRESHOLD_ACC",
    ]


def test_what_a_real_sm120_log_says_was_delivered() -> None:
    reading, intervals = of_file(SM120)
    rates = reading.rates
    delivered = rates.by_name["delivered"]
    printed = [interval.delivered_rate.value for interval in intervals if interval.delivered_rate]
    busy = [rate for rate in printed if rate]
    assert (delivered.lines, rates.idle_lines) == (14, 1) == (len(busy), len(printed) - len(busy))
    assert delivered.mean == str((sum(busy) / 14).quantize(Decimal("0.1")))
    assert (delivered.best, delivered.best_line) == ("99.8", 39)
    assert rates.alone is not None
    assert rates.alone.lines == 12
    assert rates.several is None
    assert (rates.by_name["drafted"].best, rates.by_name["drafted"].best_line) == ("109.80", 44)
    acceptance = reading.acceptance
    assert acceptance is not None
    assert (acceptance.accepted, acceptance.drafted, acceptance.rate) == (5799, 10863, "0.534")
    assert (acceptance.length, acceptance.steps, acceptance.widths) == ("2.60", "3621", (3,))
    assert acceptance.per_position == ("0.803", "0.532", "0.267")


def test_a_log_without_figures_is_still_a_log() -> None:
    reading, intervals = of_file("vllm-0.24-h200-ngram.log")
    assert intervals == ()
    assert reading.facts["draft_tokens"].value == 4
    assert reading.first.reason == "no line with figures"
    assert reading.acceptance is None
    assert reading.identity is None


def test_llamacpp_knows_which_requests_ran_together() -> None:
    rates = of_file("llamacpp-draft.log")[0].rates
    assert rates.alone is not None
    assert rates.several is not None
    assert (rates.alone.best, rates.several.best, rates.most_running) == ("31.42", "19.55", 2)
    # 1012 tokens after the first of four requests, over the sum of their eval times
    assert rates.by_time == "23.08"


@pytest.mark.parametrize(
    ("log", "fact", "value"),
    [
        ("non-default args: {'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 2, 'rejection_sample_method':"
         " 'synthetic', 'synthetic_acceptance_rates': [0.9]}}", "acceptance_mode", "synthetic"),
        ("non-default args: {'speculative_config': '{\"method\":\"mtp\",\"num_speculative_tokens\": 2,"
         " \"synthetic_acceptance_length\": 2.9}'}", "acceptance_mode", "synthetic"),
        ("non-default args: {'speculative_config': {'method': 'mtp', 'rejection_sample_method': 'fly'}}",
         "acceptance_mode", "lossy"),
        ("non-default args: {'moe_backend': 'b12x', 'speculative_config': {'method': 'mtp', 'moe_backend': 'marlin'}}",
         "moe_backend", "b12x"),
        ("server_args=ServerArgs(model_path='/m/q', speculative_algorithm='EAGLE', speculative_accept_threshold_single=0.8,"
         " speculative_accept_threshold_acc=1.0)", "acceptance_mode", "lossy"),
        ("server_args=ServerArgs(model_path='/m/q', speculative_algorithm='EAGLE', speculative_accept_threshold_single=1.0,"
         " speculative_accept_threshold_acc=1.0)", "acceptance_mode", "standard"),
        ("server_args=ServerArgs(model_path='/home/me/q', quantization='modelopt_fp4')", "model", "q"),
        ("server_args=ServerArgs(quantization='modelopt_fp4', tp_size=4)", "tensor_parallel", 4),
        ('msg="starting llama-server" cmd="/x/llama-server --spec-type draft-mtp --spec-draft-n-max 4" starting llama-server',
         "draft_tokens", 4),
        ('time=2026-09-01T10:00:00Z level=INFO msg="inference compute" id=0 library=cuda compute=12.0 driver=13.0 name="NVIDIA'
         ' RTX PRO 6000 Blackwell" total="95 GiB"', "gpu", "NVIDIA RTX PRO 6000 Blackwell, compute capability 12.0"),
        ("  Device 0: NVIDIA GeForce RTX 5090, compute capability 12.0, VMM: yes, VRAM: 32109 MiB", "gpu",
         "NVIDIA GeForce RTX 5090, compute capability 12.0"),
    ],
)  # fmt: skip
def test_a_start_line_gives_its_fact(log: str, fact: str, value: object) -> None:
    found = {}
    for engine in ENGINES:
        found |= dict(engine.start(log)) if engine.start else {}
    assert found[fact].value == value


def test_nothing_of_the_launch_arguments_is_kept_but_named_values() -> None:
    secret = "sk-very-secret-1234"
    args = f"non-default args: {{'api_key': ['{secret}'], 'speculative_config': {{'method': 'mtp', 'num_speculative_tokens': 2}}}}"
    start = f"server_args=ServerArgs(api_key='{secret}', model_path='/home/me/{secret}x/q', tp_size=4)"
    data = (DATA / SM120).read_bytes()
    for line in (args, start):
        found = read(line.encode() + b"\n" + data)
        assert found is not None
        assert secret not in found[0].model_dump_json()


def test_another_answer_is_a_sign_and_the_first_one_stands() -> None:
    data = (DATA / SM120).read_bytes()
    found = read(data + data.replace(b"num_spec_tokens=3", b"num_spec_tokens=2"))
    assert found is not None
    assert found[0].facts["draft_tokens"].value == 3
    assert [(s.line, s.text) for s in found[0].signs if s.kind.startswith("other answers")] == [
        (109, "draft_tokens 2, which line 23 gave as 3")
    ]


def test_a_claimed_number_finds_its_witnesses() -> None:
    reading, intervals = of_file(SM120, claim=(109.75, 109.85))
    (drafted,) = reading.witnesses
    assert drafted.kind is WitnessKind.DRAFTED
    assert (drafted.text, drafted.value, drafted.line, drafted.is_printed) == ("109.80", 109.8, 44, True)
    assert (drafted.lines, drafted.of_lines) == (1, 14)
    assert drafted.artefact == ARTEFACT
    assert drafted.origin == "vLLM, Engine 000"
    assert (drafted.time.text, drafted.time.reason) == ("05-15 03:22:31", "the line prints no year")
    assert drafted.sentence == (
        "the log prints 109.80 tok/s as drafted throughput at line 44; 1 of 14 such lines meet the number"
    )
    assert witnesses(intervals, 109.75, 109.85, artefact=ARTEFACT, engine="vLLM") == (drafted,)


@pytest.mark.parametrize(
    ("low", "high", "kinds"),
    [
        (99.75, 99.85, {"delivered", "peak"}),
        (67.25, 67.35, {"mean"}),
        (63.395, 63.405, {"accepted"}),
        (3241.95, 3242.05, {"prompt"}),
        (0.0, 1e9, {"delivered", "peak", "mean", "accepted", "drafted", "prompt"}),
        (129.5, 150.5, set()),
    ],
)
def test_each_kind_of_figure_is_told_apart(low: float, high: float, kinds: set[str]) -> None:
    assert {witness.kind for witness in of_file(SM120, claim=(low, high))[0].witnesses} == kinds


OLLAMA_BLOCK = b"""total duration:       9.1s
load duration:        12ms
prompt eval count:    11 token(s)
prompt eval duration: 204ms
prompt eval rate:     53.77 tokens/s
eval count:           120 token(s)
eval duration:        4.876s
eval rate:            24.61 tokens/s
"""


@pytest.mark.parametrize(("data", "rate"), [("llamacpp-draft.log", "87.76"), (OLLAMA_BLOCK, "53.77")])
def test_the_line_of_a_prompt_rate_is_the_one_that_prints_it(data: str | bytes, rate: str) -> None:
    text = (DATA / data).read_bytes() if isinstance(data, str) else data
    number = 1 + next(at for at, line in enumerate(text.splitlines()) if rate.encode() in line)
    found = read(text, claim=(float(rate), float(rate)))
    assert found is not None
    prompts = [witness for witness in found[0].witnesses if witness.kind is WitnessKind.PROMPT]
    assert [witness.line for witness in prompts] == [number]
    assert f"{rate} tok/s as prompt throughput at line {number};" in prompts[0].sentence
    summary = found[0].rates.by_name["prompt"]
    at = {summary.best: summary.best_line, summary.least: summary.least_line}
    assert at.get(rate, number) == number


def test_several_requests_make_an_aggregate() -> None:
    found = of_file("vllm-0.32-cpu-draft.log", claim=(94.85, 94.95))[0].witnesses
    kinds = {witness.kind: witness for witness in found}
    assert kinds[WitnessKind.AGGREGATE].sentence.startswith(
        "the log prints 94.9 tok/s as generation throughput of several requests together at line 95, 8 requests running;"
    )
    assert WitnessKind.PEAK in kinds
    (share,) = of_file("vllm-0.32-cpu-draft.log", claim=(11.85, 11.87))[0].witnesses
    assert (share.kind, share.is_printed, share.text) == (WitnessKind.PER_STREAM, False, "11.9")


def test_a_figure_that_only_rounds_near_the_number_is_no_witness() -> None:
    assert of_file(SM120, claim=(109.805, 109.815))[0].witnesses == ()


def test_a_witness_backs_the_rule_that_its_figure_counts() -> None:
    from auditor.core.explain.matching import Number, backs
    from auditor.core.explain.record import Reading

    def reading(rule: str) -> Reading:
        return Reading(id=rule, name=rule, formula="", unit="tokens/s", is_honest=False, state="meets")

    found = {w.kind: backing(w, "2026-12-01") for w in of_file(SM120, claim=(0.0, 1e9))[0].witnesses}
    assert found[WitnessKind.PROMPT] is None
    rules = {kind.value: witness.rule for kind, witness in found.items() if witness is not None}
    assert rules == {
        "delivered": "delivered", "accepted": "accepted", "drafted": "drafted", "peak": "log/best", "mean": "log/mean",
    }  # fmt: skip
    drafted = backing(of_file(SM120, claim=(109.75, 109.85))[0].witnesses[0], "2026-12-01")
    assert drafted is not None
    assert drafted.origin == "engine.log, vLLM, Engine 000, line 44, which prints 05-15 03:22:31"
    assert (drafted.figures[0].text, drafted.figures[0].low, drafted.figures[0].high) == ("109.80", 109.795, 109.805)
    claim = Number(low=109.75, high=109.85, text="109.8 tok/s")
    assert backs(drafted, reading("drafted/system"), claim)
    assert not backs(drafted, reading("delivered/system"), claim)


def test_every_counting_rule_that_a_log_speaks_for_exists() -> None:
    from auditor.core.bases import BASES
    from auditor.core.enginelogs.backing import RULES

    known = {basis.id for basis in BASES} | {basis.id.partition("/")[0] for basis in BASES}
    assert set(RULES.values()) <= known


def figures(intervals: tuple[Interval, ...]) -> list[tuple[object, ...]]:
    return [(i.delivered_rate, i.drafted_rate, i.accepted, i.running, i.source, i.seconds) for i in intervals]


NOISE = [
    b"panic: runtime error: index out of range [3] with length 3\n",
    "ERROR: не удалось открыть файл\n".encode(),
    "エラー: 接続できません throughput\n".encode("shift_jis"),
    b"java.lang.IllegalStateException: state\n\tat com.x.Y.z(Y.java:3)\n",
    b'{"level":"info","msg":"listening"}\n',
    b"\x00\xff\xfe\x80 broken bytes\n",
    b"thread 'main' panicked at src/main.rs:4:5:\n",
    b"\r\n",
    b"{not json\n",
]


@pytest.mark.parametrize("name", [SM120, "vllm-0.32-cpu-ngram.log", "llamacpp-draft.log"])
def test_noise_of_other_programs_changes_no_figure(name: str) -> None:
    rng = random.Random(7)
    quiet = of_file(name)
    noisy = b"".join(
        b"".join(rng.choices(NOISE, k=rng.randrange(3))) + line.replace(b"\n", b"\r\n")
        for line in (DATA / name).read_bytes().splitlines(keepends=True)
    )
    found = read(noisy)
    assert found is not None
    assert figures(found[1]) == figures(quiet[1])
    assert found[0].rates.by_name["delivered"].mean == quiet[0].rates.by_name["delivered"].mean
    assert found[0].unread == 0


FRAGMENTS = [needle.decode() for engine in ENGINES for needle in (*engine.needles, *engine.start_needles)] + [
    "Avg generation throughput: 1.0 tokens/s, ", "Running: 1 reqs, Waiting: 0 reqs", "Engine 000: ", "999999999999999999999",
    "nan", "inf", "-1.5", "1e400", "2 / 3 tokens accepted", "Accepted: 9 tokens, Drafted: 3 tokens", "states = {", "}", "(", ")",
    " ms / 5 tokens (", "#running-req: 1, ", "gen throughput (token/s): 0.00, ", "2026-99-99 99:99:99", "█", "\r", "'", '"', " ",
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=60), st.sampled_from(["", "\n", ", "]))
def test_no_mixture_of_fragments_breaks_the_reader(parts: list[str], between: str) -> None:
    reader = LogReader(claim=(1.0, 2.0))
    for line in between.join(parts).encode("utf-8", "surrogatepass").splitlines(keepends=True):
        reader.add(line)
        list(entries_of(1, line))
    found = reader.finish(ARTEFACT)
    if found is not None:
        assert LogReading.model_validate_json(found[0].model_dump_json()) == found[0]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_bytes_break_the_reader(lines: list[bytes]) -> None:
    reader = LogReader()
    for line in lines:
        reader.add(line)
    assert reader.lines == len(lines)
    reader.finish(ARTEFACT)


@pytest.mark.parametrize("fragment", [*FRAGMENTS, "Metrics (ID: a): 1 tokens generated in 1 seconds (", "█ version x "])
def test_a_long_line_of_one_fragment_is_finished(fragment: str) -> None:
    reader = LogReader()
    reader.add((fragment * (200_000 // len(fragment))).encode())
    reader.finish(ARTEFACT)
