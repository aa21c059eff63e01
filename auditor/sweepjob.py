"""What a sweep is asked for, and the audit of each of its rows."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from auditor.capture.telemetry import Sampler
from auditor.core.claim.claim import Claim
from auditor.core.hardware import HostHardware
from auditor.core.judging.notlooked import Part
from auditor.core.plan.making import Wishes
from auditor.core.sweeping.matrix import Matrix, Recipe
from auditor.errors import UsageError
from auditor.job import Job, ServerChoice


@dataclass(frozen=True, slots=True)
class Begun:
    """The id, the time and the seed of something that begins."""

    id: str
    started_ns: int
    seed: int


@dataclass(frozen=True, slots=True)
class Order:
    """A sweep, as asked for."""

    matrix: Matrix
    digest: str
    """SHA-256 of the matrix file and of the claim."""
    recipes: tuple[Recipe, ...]
    """The rows that are measured now."""
    claim: Claim
    claim_bytes: bytes
    base: Path
    """Folder of the matrix file."""
    reports: Path
    command: tuple[str, ...]
    """The words of the command, without the row."""
    environment: Mapping[str, str] = field(repr=False)
    """The tool's own."""
    hardware: HostHardware | None = None
    """The GPUs of this machine."""
    sampler: Callable[[], Sampler] | None = field(default=None, repr=False)
    """What samples them during a row."""

    def secrets(self, recipe: Recipe) -> tuple[str, ...]:
        """The values that a row must not write down; raises UsageError for a variable that is not set."""
        key = recipe.server.key_from
        for name in (*recipe.launch.secrets, *((key,) if key else ())):
            if not self.environment.get(name):
                remedy = f"set {name}, or take it out of the matrix"
                raise UsageError(f"row {recipe.row} needs the variable {name}, which is not set", remedy=remedy)
        return tuple(self.environment[name] for name in (*recipe.launch.secrets, *((key,) if key else ())))


def job_of(
    order: Order,
    recipe: Recipe,
    server: ServerChoice,
    begun: Begun,
    *,
    seed: int,
    log: Path,
    secrets: tuple[str, ...],
) -> Job:
    """The audit of a row whose server runs; `log` is where that writes."""
    load, target, case = recipe.load, recipe.server, order.claim.case(recipe.case)
    tokenizer = target.tokenizer
    if tokenizer and (order.base / tokenizer).exists():
        tokenizer = str(order.base / tokenizer)
    return Job(
        claim=order.claim,
        case=case,
        claim_bytes=order.claim_bytes,
        servers=(server,),
        wishes=_wishes(recipe),
        run=begun.id,
        started_ns=begun.started_ns,
        seed=seed,
        folder=order.reports / order.claim.id / begun.id,
        command=shlex.join([*order.command, "--only", recipe.row]),
        api_key=order.environment[target.key_from] if target.key_from else None,
        secrets=secrets,
        api=target.api,
        model=target.model or case.server.model,
        kind=target.kind,
        tokenizer=tokenizer,
        server_log=str(log),
        hardware=order.hardware,
        sampler=order.sampler() if order.sampler else None,
        canaries=load.canaries,
        without=frozenset() if load.canaries else frozenset[Part]({"canaries"}),
        left_out=_left_out(order, recipe),
    )


def _wishes(recipe: Recipe) -> Wishes:
    load = recipe.load
    return Wishes(
        streams=load.streams,
        tokens=load.tokens,
        repeats=load.repeats,
        temperature=load.temperature,
        ignore_eos=load.ignore_eos,
        quick=load.quick,
        total_ns=None if load.time_limit_s is None else load.time_limit_s * 10**9,
        stall_ns=None if load.stall_limit_s is None else load.stall_limit_s * 10**9,
        prompt_tokens=load.prompt_tokens,
        ladder=tuple(dict.fromkeys(load.ladder)),
        whole=True,
    )


def _left_out(order: Order, recipe: Recipe) -> dict[Part, str]:
    found: dict[Part, str] = {
        "text": "a sweep does not compare texts",
        "plain server": "a sweep measures one at a time",
    }
    if order.hardware is None:
        found |= {"hardware": "no --nvml was given", "telemetry": "no --nvml was given"}
    if recipe.server.tokenizer is None:
        found["recount"] = "the matrix names no tokenizer"
    if not recipe.load.canaries:
        found["canaries"] = "the matrix says canaries: false"
    return found
