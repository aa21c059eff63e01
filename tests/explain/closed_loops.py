"""Simulated servers: Bernoulli acceptance, a first token from the prefill, a cut at the end, several streams."""

from dataclasses import dataclass

import numpy as np

from auditor.core.bases import One, Sample
from auditor.core.counting.ledger import CellLedger, ExchangeLedger, RoundLedger, Times
from auditor.core.counting.tally import Identity, Tally, add, check_identity
from auditor.core.explain.closedloop import Expected
from auditor.terms import Outcome

SECOND = 10**9


@dataclass(frozen=True)
class World:
    """One server under one load."""

    width: int
    chance: float
    """That a position is accepted when those before it were."""
    streams: int
    tokens: int
    early: float
    """Share of the length by which an answer may stop early."""
    prompt: int
    step_ns: float
    wait_ns: float
    jitter: float
    """Of the step time, from round to round."""


def random_world(rng: np.random.Generator) -> World:
    """Any."""
    return World(
        width=int(rng.integers(1, 8)),
        chance=float(rng.uniform(0.05, 0.98)),
        streams=int(rng.choice([1, 1, 2, 4])),
        tokens=int(rng.integers(150, 400)),
        early=float(rng.choice([0.0, 0.0, 0.1])),
        prompt=int(rng.integers(20, 600)),
        step_ns=float(rng.uniform(5e6, 60e6)),
        wait_ns=float(rng.uniform(5e7, 2e9)),
        jitter=float(rng.uniform(0.001, 0.01)),
    )


@dataclass(frozen=True)
class Rounds:
    """Counts of every request, an array of rounds by streams each."""

    world: World
    delivered: np.ndarray
    steps: np.ndarray
    accepted: np.ndarray
    decode_ns: np.ndarray
    e2e_ns: np.ndarray

    @property
    def overshoot(self) -> np.ndarray:
        return 1 + self.steps + self.accepted - self.delivered


def simulate(world: World, rounds: int, rng: np.random.Generator) -> Rounds:
    """Run the server: every step drafts k, accepts a run of them, and adds one token of the target's own."""
    requests = rounds * world.streams
    wanted = world.tokens - np.floor(rng.uniform(0, world.early, requests) * world.tokens).astype(int)
    # A block of steps that is surely long enough: it is cut where the answer ends.
    mean = sum(world.chance**i for i in range(world.width + 1))
    block = min(world.tokens, int(world.tokens / mean * 1.6) + 40)
    accepted = np.minimum(rng.geometric(1 - world.chance, (requests, block)) - 1, world.width)
    delivered = 1 + np.cumsum(accepted + 1, axis=1)
    assert (delivered[:, -1] >= wanted).all()
    steps = 1 + np.argmax(delivered >= wanted[:, None], axis=1)
    total = np.take_along_axis(np.cumsum(accepted, axis=1), steps[:, None] - 1, axis=1)[:, 0]
    pace = np.repeat(np.exp(rng.normal(0, world.jitter, rounds)), world.streams) * world.step_ns
    decode_ns = np.rint(steps * pace).astype(np.int64)
    wait_ns = np.rint(world.wait_ns * np.exp(rng.normal(0, world.jitter, requests))).astype(np.int64)
    shape = (rounds, world.streams)
    parts = (wanted, steps, total, decode_ns, decode_ns + wait_ns)
    return Rounds(world, *(part.reshape(shape) for part in parts))


def tally_of(rounds: Rounds, at: tuple[int, int]) -> Tally:
    """The counts of one request."""
    steps, world = int(rounds.steps[at]), rounds.world
    return Tally(
        delivered=int(rounds.delivered[at]),
        first=1,
        plain_steps=0,
        verify_steps=steps,
        target_steps=steps,
        drafted=steps * world.width,
        accepted=int(rounds.accepted[at]),
        overshoot=int(rounds.overshoot[at]),
        draft_width=world.width,
        events=1 + steps,
        prompt_tokens=world.prompt,
        requested=world.tokens,
        reasoning=int(rounds.delivered[at]) // 3,
    )


def ledger_of(rounds: Rounds) -> tuple[CellLedger, list[ExchangeLedger]]:
    """The ledger as the account would make it."""
    made, lines = [], []
    for repeat in range(len(rounds.delivered)):
        own = [_line(rounds, (repeat, stream), len(lines) + stream) for stream in range(rounds.world.streams)]
        made.append(_round(own, repeat))
        lines += own
    tally = add(one.tally for one in made)
    cell = CellLedger(
        cell="subject",
        server="subject",
        role="subject",
        streams=rounds.world.streams,
        tally=tally,
        identity=check_identity(tally),
        rounds=tuple(made),
    )
    return cell, lines


def _line(rounds: Rounds, at: tuple[int, int], exchange: int) -> ExchangeLedger:
    end = int(rounds.e2e_ns[at])
    first = end - int(rounds.decode_ns[at])
    return ExchangeLedger(
        exchange=exchange,
        cell="subject",
        repeat=at[0],
        index=at[1],
        prompt="p",
        kind="prose",
        status="complete",
        tally=tally_of(rounds, at),
        identity=Identity(outcome=Outcome.HOLDS, sentence=""),
        times=Times(
            send_ns=0,
            first_ns=first,
            last_ns=end,
            end_ns=end,
            tokens_in_first_event=1,
            tokens_after_first=int(rounds.delivered[at]) - 1,
        ),
    )


def _round(lines: list[ExchangeLedger], repeat: int) -> RoundLedger:
    tally = add(line.tally for line in lines)
    return RoundLedger(
        cell="subject",
        repeat=repeat,
        exchanges=tuple(line.exchange for line in lines),
        complete=len(lines),
        tally=tally,
        window_ns=max(line.times.last_ns or 0 for line in lines),
        decode_tokens=(tally.delivered or 0) - len(lines),
        decode_ns=sum(line.times.decode_ns or 0 for line in lines),
        e2e_ns=sum(line.times.e2e_ns or 0 for line in lines),
    )


def samples_of(rounds: Rounds) -> list[Sample]:
    """The rounds as the rules see them, without a ledger: for the value that many repeats would show."""
    return [_sample(rounds, index) for index in range(len(rounds.delivered))]


def _sample(rounds: Rounds, index: int) -> Sample:
    world, own = rounds.world, (rounds.delivered[index], rounds.steps[index], rounds.accepted[index])
    delivered, steps, accepted = (float(part.sum()) for part in own)
    decode, e2e = rounds.decode_ns[index], rounds.e2e_ns[index]
    counts = Expected(
        delivered=delivered,
        first=world.streams,
        plain_steps=0,
        verify_steps=steps,
        target_steps=steps,
        drafted=steps * world.width,
        accepted=accepted,
        draft_width=world.width,
        events=world.streams + steps,
        prompt_tokens=world.prompt * world.streams,
        requested=world.tokens * world.streams,
        reasoning=float((rounds.delivered[index] // 3).sum()),
        requests=world.streams,
    )
    each = zip(rounds.delivered[index], decode, e2e, strict=True)
    return Sample(
        counts=counts,
        first_tokens=world.streams,
        decode_ns=float(decode.sum()),
        e2e_ns=float(e2e.sum()),
        window_ns=float(e2e.max()),
        span_ns=float(e2e.max() - (e2e - decode).min()),
        each=tuple(One(float(n), float(n) - 1, float(d), float(t)) for n, d, t in each),
    )
