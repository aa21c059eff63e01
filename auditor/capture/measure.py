"""The measurement: opens the log, negotiates, sends the plan, and counts the text again."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditor.capture.access import Access
from auditor.capture.asking import Target, negotiate
from auditor.capture.canaries import ask_canaries
from auditor.capture.interrupt import interruptible
from auditor.capture.probe import ask_again
from auditor.capture.recount import Tokenizer, recount
from auditor.capture.replay import Monitor, OnRound, replay
from auditor.capture.sending import Reply
from auditor.capture.striking import Striker
from auditor.capture.wirelog import WireWriter
from auditor.core import folder as names
from auditor.core.adapter import Adapter
from auditor.core.facts import RunFacts
from auditor.core.folder import write
from auditor.core.plan.plan import Plan, Round, token_count
from auditor.core.validity.canaries import Canaries, Canary, When
from auditor.errors import AuditError

Watch = Callable[[Monitor], Any]
"""Called about twice a second while requests are in flight."""
WATCH_S = 0.5
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Measured:
    """How the measurement went."""

    stopped: str | None
    """Why it ended early; None when it did not."""
    last_failure: Reply | None
    """The last request that failed."""
    log_failure: AuditError | None
    """Why the log could no longer be written."""


async def measure(
    folder: Path,
    plan: Plan,
    facts: RunFacts,
    *,
    access: Mapping[str, Access],
    adapters: Mapping[str, Adapter],
    striker: Striker,
    tokenizer: Tokenizer | None,
    other_tokenizer: Tokenizer | None = None,
    canaries: Sequence[Canary] = (),
    before: Callable[[RunFacts], None],
    watch: Watch | None,
    on_round: OnRound | None = None,
) -> Measured:
    """Send the plan. `before` is called with all that is known when the first request of the plan is about to go.

    Whatever breaks after that, or stops it, leaves a folder that can be judged; what breaks before raises AuditError.
    """
    log = WireWriter(folder / names.WIRE, striker=striker)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(log.close)
        log.start()
        targets: dict[str, Target] = {}
        for key, server in facts.servers.items():
            client, transport = access[key].capturing_client(log)
            await stack.enter_async_context(client)
            target = Target(server, adapters[key], client, transport)
            ready = await negotiate(target, plan)
            async with access[key].probing_client() as probing:
                ready = await ask_again(probing, ready, adapters[key])
            targets[key] = Target(ready, adapters[key], client, transport)
        before(_completed(facts, list(targets.values())))
        await log.flush()
        monitor = Monitor(planned_tokens=token_count(plan))

        async def whole() -> str | None:
            subject = targets[plan.subject.server]
            asked = Canaries(model=subject.facts.model, asked=tuple(canaries), answers=())

            async def ask(when: When) -> None:
                nonlocal asked
                answers = asked.answers + await ask_canaries(canaries, when, subject, plan)
                asked = asked.model_copy(update={"answers": answers})
                write(folder, names.CANARIES, striker.in_bytes(asked.to_json()))

            if canaries:
                await ask("before")
            stopped = await replay(plan, targets, log, monitor, on_round)
            if canaries and not stopped:
                if on_round is not None:
                    # For a log of the server these lines are a round of their own, and nobody's.
                    on_round(Round(plan.subject.model_copy(update={"key": "canaries"}), 0, ()))
                await ask("after")
            if not stopped:
                await log.flush()
                await _count_again(folder, plan, targets, tokenizer, other_tokenizer)
            return stopped

        stopped = await _watched(whole(), monitor, log, watch)
    return Measured(str(log.failure) if log.failure else stopped, monitor.last_failure, log.failure)


def _completed(facts: RunFacts, targets: Sequence[Target]) -> RunFacts:
    """The facts with what the negotiation showed."""
    servers = {target.facts.key: target.facts for target in targets}
    stamped = any(target.transport.kernel_stamps for target in targets)
    return facts.model_copy(update={"servers": servers, "kernel_stamps": stamped})


async def _count_again(
    folder: Path, plan: Plan, targets: Mapping[str, Target], tokenizer: Tokenizer | None, other: Tokenizer | None
) -> None:
    """The recount; an interruption costs the recount and nothing else."""
    try:
        counts = await recount(folder, plan, targets, tokenizer, other)
    except asyncio.CancelledError:
        return
    if counts is not None:
        write(folder, names.RECOUNT, counts.to_json())


async def _watched(
    measuring: Coroutine[Any, Any, str | None], monitor: Monitor, log: WireWriter, watch: Watch | None
) -> str | None:
    """Run it so that one signal, or a log that can no longer be written, ends it and not the tool."""
    whole = asyncio.current_task()
    task = asyncio.ensure_future(measuring)
    with interruptible(task.cancel, whole.cancel if whole else task.cancel):
        try:
            while not task.done():
                await asyncio.wait([task], timeout=WATCH_S)
                if log.failure:
                    task.cancel()
                if watch is not None:
                    watch(monitor)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return INTERRUPTED if task.cancelled() else task.result()
