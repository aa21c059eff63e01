"""A simulated server: a closed loop of requests whose every step is known, told in the shapes of llama.cpp and vLLM.

The simulation counts its own steps; what the account makes of the bytes and counters is held against that.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from runs import Recording

MS = 10**6


@dataclass(frozen=True)
class Setting:
    """One server and its load."""

    seed: int
    width: int = 3
    """k: most tokens drafted in a step."""
    acceptance: float = 0.7
    """Chance that a drafted token is accepted where the one before it was."""
    plain: float = 0.2
    """Share of steps without a draft."""
    tokens: int = 60
    streams: int = 1
    merged: float = 0.0
    """Chance that the server joins the events of a step to those of the next (vLLM)."""
    held: float = 0.0
    """Chance that a token's text is held back and comes with the next (llama.cpp)."""
    per_step: bool = False
    """Whether the usage event lists the accepted drafts of each step (vLLM)."""


@dataclass
class Truth:
    """What happened, summed over requests."""

    delivered: int = 0
    plain_steps: int = 0
    verify_steps: int = 0
    drafted: int = 0
    accepted: int = 0
    overshoot: int = 0
    requests: int = 0
    merges: int = 0
    by_position: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Happened:
    """One step: what it drafted, accepted and delivered."""

    drafted: int
    accepted: int
    tokens: int


def steps_of_request(setting: Setting, rng: random.Random, truth: Truth) -> list[Happened]:
    """The prefill's token, then plain and verify steps until the length is reached; the last step may be cut."""
    found = [Happened(0, 0, 1)]
    left = setting.tokens - 1
    truth.requests += 1
    truth.delivered += setting.tokens
    while left > 0:
        if setting.width == 0 or rng.random() < setting.plain:
            found.append(Happened(0, 0, 1))
            truth.plain_steps += 1
            left -= 1
            continue
        drafted = rng.randint(1, setting.width)
        accepted = 0
        while accepted < drafted and rng.random() < setting.acceptance:
            truth.by_position[accepted] += 1
            accepted += 1
        tokens = min(accepted + 1, left)
        found.append(Happened(drafted, accepted, tokens))
        truth.verify_steps += 1
        truth.drafted += drafted
        truth.accepted += accepted
        truth.overshoot += accepted + 1 - tokens
        left -= tokens
    return found


def simulate(setting: Setting, kind: str) -> tuple[tuple[Recording, ...], Truth]:
    """One round: a recording of each stream, with the counters around them, and what happened."""
    rng = random.Random(f"{setting}")
    truth = Truth(by_position=[0] * setting.width)
    told = {"llamacpp": _llamacpp, "vllm": _vllm}[kind]
    # The server has a past, which is in its counters before the round.
    past = Truth(17, 5, 3, 3 * setting.width, 2, 0, 4, by_position=[1] * setting.width)
    streams = [told(setting, rng, truth) for _ in range(setting.streams)]
    counters = {"llamacpp": _llamacpp_counters, "vllm": _vllm_counters}[kind]
    before, after = counters(past, setting), counters(_sum(past, truth), setting)
    return tuple(
        _recording(kind, index, setting, events, before, after, rng) for index, events in enumerate(streams)
    ), truth


def _sum(one: Truth, other: Truth) -> Truth:
    values = {
        name: getattr(one, name) + getattr(other, name)
        for name in ("delivered", "plain_steps", "verify_steps", "drafted", "accepted", "overshoot", "requests")
    }
    return Truth(**values, by_position=[a + b for a, b in zip(one.by_position, other.by_position, strict=True)])


def _recording(
    kind: str, index: int, setting: Setting, events: list[tuple[int, Any]], before: str, after: str, rng: random.Random
) -> Recording:
    """The events as one chunked response, several of them in a read now and then."""
    body = {"messages": [{"role": "user", "content": f"prompt {index}"}], "max_tokens": setting.tokens}
    reads: list[tuple[int, bytes]] = [
        (2 * MS, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    ]
    for at_ns, event in events:
        text = b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"
        chunk = b"%x\r\n" % len(text) + text + b"\r\n"
        if len(reads) > 1 and rng.random() < 0.1:
            reads[-1] = (reads[-1][0], reads[-1][1] + chunk)
        else:
            reads.append((at_ns, chunk))
    end = events[-1][0]
    reads.append((end, b"0\r\n\r\n"))
    return Recording(
        name=f"simulated-{index}",
        kind=kind,
        request=b"POST /v1/chat/completions HTTP/1.1\r\n\r\n" + json.dumps(body).encode(),
        send_ns=0,
        sent_ns=0,
        reads=tuple(reads),
        end_ns=end,
        how="complete",
        before=before,
        after=after,
    )


def _times(steps: list[Happened], rng: random.Random) -> list[int]:
    at, times = rng.randint(20, 90) * MS, []
    for _ in steps:
        times.append(at)
        at += rng.randint(5, 40) * MS
    return times


def _llamacpp(setting: Setting, rng: random.Random, truth: Truth) -> list[tuple[int, Any]]:
    """An event a token, all tokens of a step under one `predicted_ms`; held text comes with the next token's."""
    steps = steps_of_request(setting, rng, truth)
    events: list[tuple[int, Any]] = [
        (20 * MS, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})
    ]
    count = drafted = accepted = held = 0
    timings: dict[str, Any] = {}
    for step, at_ns in zip(steps, _times(steps, rng), strict=True):
        drafted, accepted = drafted + step.drafted, accepted + step.accepted
        for _ in range(step.tokens):
            count += 1
            held += 1
            timings = {"predicted_n": count, "predicted_ms": at_ns / MS}
            timings |= {"draft_n": drafted, "draft_n_accepted": accepted} if drafted else {}
            if rng.random() < setting.held and count < setting.tokens:
                continue
            truth.merges += held > 1
            events.append(
                (at_ns, {"choices": [{"index": 0, "delta": {"content": " word" * held}}], "timings": timings})
            )
            held = 0
    end = events[-1][0]
    usage = {"completion_tokens": count, "prompt_tokens": 30, "prompt_tokens_details": {"cached_tokens": 0}}
    events.append((end, {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}))
    events.append((end, {"choices": [], "usage": usage, "timings": timings}))
    return [*events, (end, b"[DONE]")]


def _vllm(setting: Setting, rng: random.Random, truth: Truth) -> list[tuple[int, Any]]:
    """An event a step, with its ids and the running usage; the server may join the events of neighbouring steps."""
    steps = steps_of_request(setting, rng, truth)
    groups: list[list[Happened]] = []
    for step in steps:
        if groups and rng.random() < setting.merged:
            groups[-1].append(step)
            truth.merges += 1
        else:
            groups.append([step])
    return _vllm_events(setting, steps, groups, _times(steps, rng))


def _vllm_events(
    setting: Setting, steps: list[Happened], groups: list[list[Happened]], times: list[int]
) -> list[tuple[int, Any]]:
    count, at = 0, 0
    events: list[tuple[int, Any]] = []
    for group in groups:
        at += len(group)
        tokens = sum(step.tokens for step in group)
        count += tokens
        choice = {"index": 0, "delta": {"content": " word" * tokens}, "token_ids": list(range(count - tokens, count))}
        choice["finish_reason"] = "length" if count == setting.tokens else None
        events.append(
            (times[at - 1], {"choices": [choice], "usage": {"prompt_tokens": 30, "completion_tokens": count}})
        )
    last: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": count}}
    if setting.per_step:
        verified = [step for step in steps if step.drafted]
        last["metrics"] = {
            "speculative_decoding": {
                "num_spec_steps": len(verified),
                "num_draft_tokens": sum(step.drafted for step in verified),
                "num_accepted_draft_tokens": sum(step.accepted for step in verified),
                "per_step_accepted": [step.accepted for step in verified],
                "per_step_drafted": [step.drafted for step in verified],
            }
        }
    return [*events, (times[-1], last), (times[-1], b"[DONE]")]


def told_by_vllm(setting: Setting, steps: list[Happened], groups: list[list[Happened]], truth: Truth) -> Recording:
    """One request of these steps, joined to events as `groups` says, between counters that know the truth."""
    rng = random.Random(1)
    nothing = Truth(by_position=[0] * setting.width)
    events = _vllm_events(setting, steps, groups, _times(steps, rng))
    before, after = (_vllm_counters(one, setting) for one in (nothing, truth))
    return _recording("vllm", 0, setting, events, before, after, rng)


def _llamacpp_counters(truth: Truth, setting: Setting) -> str:
    names = {
        "tokens_predicted_total": truth.delivered,
        "prompt_tokens_total": 30 * truth.requests,
        "n_decode_total": truth.requests + truth.plain_steps + truth.verify_steps,
        "spec_decode_num_draft_tokens_total": truth.drafted,
        "spec_decode_num_accepted_tokens_total": truth.accepted,
        "spec_decode_num_drafts_total": truth.verify_steps,
        "requests_processing": 0,
    }
    lines = [f"llamacpp:{name} {value}" for name, value in names.items()]
    position = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    return "\n".join(lines + [f'{position}{{position="{i}"}} {n}' for i, n in enumerate(truth.by_position)]) + "\n"


def _vllm_counters(truth: Truth, setting: Setting) -> str:
    steps = truth.requests + truth.plain_steps + truth.verify_steps
    names = {
        "generation_tokens_total": truth.delivered,
        "prompt_tokens_total": 30 * truth.requests,
        "time_to_first_token_seconds_count": truth.requests,
        "inter_token_latency_seconds_count": steps - truth.requests,
        "num_requests_running": 0,
    }
    if setting.width:
        names |= {
            "spec_decode_num_drafts_total": truth.verify_steps,
            "spec_decode_num_draft_tokens_total": truth.drafted,
            "spec_decode_num_accepted_tokens_total": truth.accepted,
        }
    lines = [f'vllm:{name}{{engine="0"}} {value}.0' for name, value in names.items()]
    position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    return "\n".join(lines + [f'{position}{{position="{i}"}} {n}.0' for i, n in enumerate(truth.by_position)]) + "\n"
