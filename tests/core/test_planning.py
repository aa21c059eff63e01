"""The plan: loads from wishes, claim and defaults; prompts with a nonce; prompt files."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.claim.claim import Case, parse_claim
from auditor.core.facts import ServerFacts, known
from auditor.core.plan.making import Wishes, make_plan, make_rehearsal
from auditor.core.plan.plan import Plan, Round, kinds_of, nonce_for, request_count, schedule, token_count
from auditor.core.plan.promptfile import MAX_PROMPTS, read_prompts
from auditor.core.plan.prompts import SUITE, SUITE_KINDS, Message, Prompt, about_tokens, padded, padding, pick
from auditor.errors import UsageError


def case_of(workload: str = "{}", reported: str = "{value: 130}") -> Case:
    text = f"schema: 1\nid: a\ntitle: t\nreported: {reported}\nworkload: {workload}\n"
    return parse_claim(text, "claim.yaml").case(None)


def server(key: str = "subject", context: int | None = None, **facts: Any) -> ServerFacts:
    answers = {name: known(value, "x") for name, value in facts.items()}
    answers |= {"context_length": known(context, "x")} if context else {}
    return ServerFacts(key=key, url=f"http://{key}", kind="vllm", kind_reason="x", model="m", facts=answers)


def plan(case: Case | None = None, *servers: ServerFacts, **wishes: Any) -> Plan:
    return make_plan(
        case or case_of(), "digest", servers or (server(),), Wishes(**wishes), seed=7, tool_version="0.1.0"
    )


def test_the_defaults_are_a_sustained_stream_of_every_kind() -> None:
    made = plan()
    cell = made.subject
    assert (cell.streams, cell.repeats, cell.requests, cell.max_tokens) == (1, 3, 6, 1200)
    assert tuple(kinds_of(made, cell)) == SUITE_KINDS
    assert len(SUITE_KINDS) == 6
    assert (made.temperature, made.ignore_eos, made.quick, made.rehearsal) == (0.0, True, False, False)
    assert [(cell.key, cell.role) for cell in made.cells] == [("subject-warmup", "warmup"), ("subject", "subject")]


def test_the_claim_says_the_load_and_the_reviewer_may_say_another() -> None:
    case = case_of("{output_tokens: 700, concurrency: 8, sampling: {temperature: 0.6, top_p: 0.9}}")
    cell = plan(case).subject
    assert (cell.streams, cell.max_tokens) == (8, 700)
    assert (plan(case).temperature, plan(case).top_p) == (0.6, 0.9)
    cell = plan(case, streams=2, tokens=300, repeats=5).subject
    assert (cell.streams, cell.max_tokens, cell.repeats) == (2, 300, 5)
    assert plan(case, temperature=0.0).temperature == 0.0
    assert plan(case_of("{concurrency: 8}", "{value: 1, streams: 3}")).subject.streams == 3


@pytest.mark.parametrize(
    ("streams", "requests"), [(1, 6), (2, 6), (3, 6), (4, 8), (5, 10), (6, 12), (16, 32), (256, 512)]
)
def test_every_stream_has_two_requests_and_none_is_left_over(streams: int, requests: int) -> None:
    cell = plan(streams=streams).subject
    assert cell.requests == requests
    assert cell.requests % streams == 0
    (warmup, *_) = plan(streams=streams).cells
    assert warmup.requests == streams


def test_a_quick_look_is_marked() -> None:
    made = plan(quick=True)
    assert (made.quick, made.subject.repeats, made.subject.max_tokens) == (True, 1, 1024)
    assert tuple(kinds_of(made, made.subject)) == ("code", "prose")


@pytest.mark.parametrize(("stated", "least"), [(None, 1000), (2000, 1000), (700, 700), (128, 128), (5, 128)])
def test_an_answer_need_not_be_longer_than_the_claim_says(stated: int | None, least: int) -> None:
    made = plan(case_of(f"{{output_tokens: {stated}}}" if stated else "{}"))
    assert made.tolerance.sustained_tokens == least
    assert plan(tokens=300).tolerance.sustained_tokens == 1000


def test_a_pair_gets_the_same_load_on_both_servers() -> None:
    made = plan(None, server(), server("plain"), streams=2)
    subject, reference = made.cell("subject"), made.cell("plain")
    assert reference.role == "reference"
    assert subject.model_copy(update={"key": "plain", "server": "plain", "role": "reference"}) == reference
    assert [cell.key for cell in made.cells if cell.role == "warmup"] == ["subject-warmup", "plain-warmup"]


def test_the_answers_fit_the_context() -> None:
    assert plan(None, server(context=1000)).subject.max_tokens == 1000 - 501 - 64
    assert plan(None, server(context=100_000)).subject.max_tokens == 1200
    with pytest.raises(UsageError, match="does not fit the context of 400") as error:
        plan(None, server(context=400))
    assert "raise the server's context length" in str(error.value)


def test_a_claimed_prompt_length_is_padded_to() -> None:
    made = plan(case_of("{prompt_tokens: 2000}"))
    for prompt in made.prompts:
        assert sum(about_tokens(message.content) for message in prompt.messages) == pytest.approx(2000 - 12, abs=2)
    texts = {prompt.messages[0].content[:200] for prompt in made.prompts}
    assert len(texts) == len(made.prompts)


def test_the_claim_s_own_prompts_and_the_reviewer_s_come_first() -> None:
    own = Prompt(id="own-1", kind="reviewer", origin="reviewer", messages=(Message(role="user", content="Mine"),))
    made = plan(case_of("{prompts: [Theirs]}"), prompts=(own,))
    assert [prompt.origin for prompt in made.prompts] == ["reviewer", "claim", *["suite"] * 6]
    assert [prompt.id for prompt in plan(case_of("{prompts: [Theirs]}"), suite=False).prompts] == ["claim-1"]
    with pytest.raises(UsageError, match="there is no prompt to send"):
        plan(suite=False)


def test_a_rehearsal_measures_speculation_beside_none() -> None:
    servers = (server("ngram", speculation=True), server("draft", speculation=True), server("plain", speculation=False))
    made = make_rehearsal(case_of(), "digest", servers, Wishes(), seed=7, tool_version="0.1.0")
    loads = {cell.key: (cell.server, cell.role, cell.streams, cell.max_tokens) for cell in made.cells}
    assert loads == {
        "subject": ("ngram", "subject", 1, 1000),
        "draft": ("draft", "extra", 2, 300),
        "plain": ("plain", "reference", 1, 1000),
        "plain-2": ("plain", "reference", 2, 300),
    }
    assert made.rehearsal
    assert {prompt.id for prompt in made.prompts} == {name for cell in made.cells for name in cell.prompts}
    pair = make_rehearsal(case_of(), "digest", servers[::2], Wishes(), seed=7, tool_version="0.1.0")
    assert [cell.key for cell in pair.cells] == ["subject", "plain"]


def test_a_server_beside_may_speculate_and_gets_the_same_load() -> None:
    made = plan(None, server(), server("beside-1", speculation=True), beside=("beside-1",))
    assert [(cell.key, cell.role) for cell in made.cells[2:]] == [("subject", "subject"), ("beside-1", "extra")]
    one, other = made.cells[2:]
    assert other == one.model_copy(update={"key": "beside-1", "server": "beside-1", "role": "extra"})


def rounds_of(made: Plan, key: str) -> list[Round]:
    return [one for one in schedule(made) if one.cell.key == key]


def test_rounds_are_interleaved_after_the_warm_up_in_turning_order() -> None:
    made = plan(None, server(), server("plain"))
    order = [(one.cell.key, one.repeat) for one in schedule(made)]
    assert order[:2] == [("subject-warmup", 0), ("plain-warmup", 0)]
    keys = ("subject", "plain", "plain", "subject", "subject", "plain")
    assert order[2:] == [(key, number // 2) for number, key in enumerate(keys)]
    assert request_count(made) == sum(len(one.requests) for one in schedule(made))
    assert token_count(made) == 2 * (6 * 3 * 1200 + 48)


def test_a_nonce_comes_first_differs_in_every_request_and_is_the_same_on_a_pair() -> None:
    made = plan(None, server(), server("plain"), streams=2)
    sent = {
        (one.cell.key, one.repeat, request.index): request.messages[0].content
        for one in schedule(made)
        for request in one.requests
    }
    for text in sent.values():
        assert re.match(r"\[[0-9a-f]{12}\] ", text)
    nonces = {key: text[1:13] for key, text in sent.items()}
    for own in ("subject", "plain"):
        mine = [nonce for (key, _, _), nonce in nonces.items() if key in (own, f"{own}-warmup")]
        assert len(set(mine)) == len(mine)
    for (key, repeat, index), text in sent.items():
        if key == "subject":
            assert sent["plain", repeat, index] == text
    assert len({nonce_for(made.model_copy(update={"seed": seed}), made.subject, 0, 0) for seed in range(50)}) == 50


def test_the_digest_of_a_plan_is_that_of_its_content() -> None:
    assert plan().digest() == plan().digest()
    assert plan().digest() != plan(tokens=1201).digest()
    assert Plan.from_json(plan().to_json()) == plan()


def test_the_suite_has_six_kinds_that_lead_to_long_answers() -> None:
    assert [prompt.kind for prompt in pick()] == list(SUITE_KINDS)
    assert len({prompt.id for prompt in SUITE}) == len(SUITE)
    assert all(prompt.origin == "suite" and prompt.messages[-1].role == "user" for prompt in SUITE)


@given(st.integers(1, 5000), st.integers(0, 10**6))
def test_filler_is_as_long_as_asked_and_the_same_for_a_seed(tokens: int, seed: int) -> None:
    text = padding(tokens, seed)
    assert text == padding(tokens, seed)
    assert about_tokens(text) == pytest.approx(tokens, abs=1)


def test_a_prompt_that_is_long_enough_is_left_alone() -> None:
    assert padded(SUITE[3], 300, 1) == SUITE[3]
    long = padded(SUITE[0], 1000, 1)
    assert long.messages[0].content.endswith(SUITE[0].messages[0].content)
    assert long.messages[0].content.startswith("Background, to be ignored:")


def test_the_length_of_a_text_is_guessed_within_a_fifth() -> None:
    """Tokens by SmolLM2's tokenizer, asked of a running server."""
    counted = {
        "code-1": 66,
        "prose-1": 48,
        "reasoning-1": 100,
        "extraction-1": 588,
        "multilingual-1": 56,
        "repetition-1": 36,
    }
    for prompt in SUITE:
        assert about_tokens(prompt.messages[0].content) == pytest.approx(counted[prompt.id], rel=0.2)


READ = [
    (b'{"prompt": "one"}\n\n{"prompt": "two"}\n', [["user: one"], ["user: two"]]),
    (b'\xef\xbb\xbf{"prompt": "one"}\r\n', [["user: one"]]),
    (b'{"prompt": "\\u2028 is no line end"}', [["user: \u2028 is no line end"]]),
    (
        b'{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]}',
        [["system: s", "user: q"]],
    ),
    (
        b'{"messages": [{"role": "developer", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", '
        b'"content": "a"}]}',
        [["system: s", "user: q"]],
    ),
    (
        b'[{"id": "x", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}, {"from": "human", '
        b'"value": "q2"}]}]',
        [["user: q"]],
    ),
    (
        b'[{"conversations": [{"from": "gpt", "value": "a"}, {"from": "system", "value": "s"}, {"from": "human", "value": '
        b'"q"}]}, {"prompt": "p"}]',
        [["system: s", "user: q"], ["user: p"]],
    ),
    (b'{"prompt": " ", "messages": [{"role": "user", "content": "q"}]}', [["user: q"]]),
]


@pytest.mark.parametrize(("data", "turns"), READ)
def test_prompt_files(data: bytes, turns: list[list[str]]) -> None:
    found = read_prompts(data, "p.jsonl")
    assert [[f"{m.role}: {m.content}" for m in prompt.messages] for prompt in found] == turns
    assert [prompt.id for prompt in found] == [f"own-{i + 1}" for i in range(len(turns))]
    assert {prompt.origin for prompt in found} == {"reviewer"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "p.jsonl: holds no prompt; give lines such as"),
        (b"\n \n", "holds no prompt"),
        (b"[]", "holds no prompt"),
        (b'{"prompt": "a"}\nnot json\n', "p.jsonl:2: is not JSON"),
        (b'{\n "prompt": "a"\n}', "p.jsonl:1: is not JSON"),
        (b"[1, 2", "p.jsonl: is not JSON"),
        (b"\xff\xfe", "p.jsonl:1: is not JSON"),
        (b'{"prompt": "a"}\n"text"\n', "p.jsonl:2: is not an object; give prompt, messages, or conversations"),
        (b'[{"prompt": "a"}, 3]', "p.jsonl, item 2: is not an object"),
        (b'{"prompt": ""}', "p.jsonl:1: has no prompt"),
        (b'{"text": "a"}', "p.jsonl:1: has no prompt"),
        (b'{"messages": []}', "has no prompt"),
        (b'{"messages": ["a"]}', "has a turn that is not an object"),
        (b'{"messages": [{"role": "user", "content": ""}]}', "has a turn without a known role or text"),
        (b'{"messages": [{"role": "user", "content": [{"type": "text"}]}]}', "has a turn without a known role or text"),
        (b'{"messages": [{"role": "tool", "content": "a"}]}', "has a turn without a known role or text"),
        (b'{"messages": [{"role": "assistant", "content": "a"}]}', "has no turn of a user"),
        (b'{"messages": [{"role": "system", "content": "a"}]}', "has no turn of a user"),
        (b'{"conversations": [{"from": "gpt", "value": "a"}]}', "has no turn of a user"),
        (b'{"prompt": "a"}\n' * (MAX_PROMPTS + 1), "holds 10,001 prompts; give at most 10,000"),
    ],
)
def test_prompt_files_that_cannot_be_read_say_where(data: bytes, words: str) -> None:
    with pytest.raises(UsageError) as error:
        read_prompts(data, "p.jsonl")
    assert words in str(error.value)


@given(st.binary(max_size=100))
def test_no_prompt_file_is_a_traceback(data: bytes) -> None:
    with suppress(UsageError):
        assert read_prompts(data, "p.jsonl")
