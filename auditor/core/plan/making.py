"""Makes the plan: from the claim, what the server told, and what the reviewer asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from auditor.core.claim.claim import Case
from auditor.core.explain.discrimination import CELL, Discrimination
from auditor.core.facts import ServerFacts
from auditor.core.judging import textcheck
from auditor.core.plan.plan import SUSTAINED_TOKENS, Cell, Plan, StopRule, Tolerance
from auditor.core.plan.prompts import Kind, Message, Prompt, about_tokens, padded, pick
from auditor.errors import UsageError

DEFAULT_TOKENS = 1200
DEFAULT_REPEATS = 3
QUICK_TOKENS = 1024
QUICK_KINDS: tuple[Kind, ...] = ("code", "prose")
LEAST_TOKENS = 128
"""Delivered tokens per stream below which no rate is believed, whatever the claim says."""
WARMUP_TOKENS = 48
OPEN_S = 60
"""Seconds of arrivals in a repeat of an open loop."""
MOST_REQUESTS = 10_000
_NONCE_TOKENS = 12
_MARGIN_TOKENS = 64
"""Left free in the context for the chat template and the nonce."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the reviewer asked for; None leaves it to the claim and then to the defaults."""

    streams: int | None = None
    tokens: int | None = None
    repeats: int | None = None
    prompts: tuple[Prompt, ...] = ()
    """The reviewer's own."""
    suite: bool = True
    """Whether the public suite is used as well."""
    temperature: float | None = None
    ignore_eos: bool = True
    quick: bool = False
    total_ns: int | None = None
    stall_ns: int | None = None
    discriminate: Discrimination | None = None
    """A further measurement beside the claim's own load."""
    rate: float | None = None
    """Requests per second, open loop."""
    arrivals: Literal["poisson", "constant"] = "poisson"
    check_text: bool = False
    """Whether greedy texts are compared with those of the server without speculation."""
    prompt_tokens: int | None = None
    """Length to which prompts are padded."""
    ladder: tuple[int, ...] = ()
    """Further numbers of streams under which the judged load is measured too."""
    beside: tuple[str, ...] = ()
    """Keys of further servers, whatever they do, to be measured in turns with the judged one."""
    whole: bool = False
    """Whether an embedded server gets the load of any other, not the small one of a rehearsal."""

    @property
    def stop(self) -> StopRule:
        """When a request, or the run, is given up."""
        rule = StopRule(total_ns=self.total_ns)
        return rule if self.stall_ns is None else rule.model_copy(update={"stall_ns": self.stall_ns})


def make_plan(
    case: Case,
    claim_digest: str,
    servers: Sequence[ServerFacts],
    wishes: Wishes,
    *,
    seed: int,
    tool_version: str,
) -> Plan:
    """The plan for a server that was given, its pair without speculation, and those beside it, where they were given.

    `servers` holds the subject first. Raises UsageError when the prompts do not fit the server's context
    or the pair speculates.
    """
    subject, *others = servers
    references = [server for server in others if server.key not in wishes.beside]
    streams = wishes.streams or case.reported.streams or case.workload.concurrency or 1
    prompts = _prompts(case, wishes, seed)
    tokens = wishes.tokens or case.workload.output_tokens or (QUICK_TOKENS if wishes.quick else DEFAULT_TOKENS)
    tokens = _fitted(tokens, prompts, subject, is_asked=wishes.tokens is not None)
    for server in references:
        if server.value("speculation"):
            what = f"the --pair server speculates too ({server.value('speculation_method') or 'how is not known'})"
            raise UsageError(what, where=server.url, remedy="give one that does not")
    load = {
        "streams": streams,
        "repeats": wishes.repeats or (1 if wishes.quick else DEFAULT_REPEATS),
        "requests": _requests(streams, len(prompts)),
        "prompts": tuple(prompt.id for prompt in prompts),
        "max_tokens": tokens,
    }
    if wishes.rate is not None:
        requests = min(MOST_REQUESTS, max(len(prompts), round(wishes.rate * OPEN_S)))
        load |= {"rate": wishes.rate, "arrivals": wishes.arrivals, "requests": requests}
    cells = [_warmup(server, load) for server in servers]
    cells.append(Cell(key="subject", server=subject.key, role="subject", **load))
    cells += [
        Cell(key=server.key, server=server.key, role="reference" if server in references else "extra", **load)
        for server in others
    ]
    sampling = case.workload.sampling
    temperature = _first(wishes.temperature, sampling.temperature, 0.0)
    text = _text(cells, (subject, *references), wishes, temperature)
    cells += [*_ladder(cells, wishes), *_further(cells, wishes), *text]
    return Plan(
        tool_version=tool_version,
        claim_digest=claim_digest,
        case=case.id,
        seed=seed,
        api=subject.api,
        temperature=temperature,
        top_p=sampling.top_p,
        ignore_eos=wishes.ignore_eos,
        cells=tuple(cells),
        prompts=prompts,
        stop=wishes.stop,
        tolerance=_tolerance(case),
        quick=wishes.quick,
        rehearsal=all(server.embedded for server in servers),
        discriminates=wishes.discriminate,
    )


def make_rehearsal(
    case: Case, claim_digest: str, servers: Sequence[ServerFacts], wishes: Wishes, *, seed: int, tool_version: str
) -> Plan:
    """The plan for embedded servers: small, and the same load on each without speculation.

    One stream of 1,000 tokens on the first server, two of 300 on any other that speculates; `wishes` may set the
    length and repeats of the first.
    """
    subject, *others = servers
    by_kind = {prompt.kind: prompt for prompt in pick()}
    single, double = (by_kind["extraction"].id,), (by_kind["code"].id, by_kind["prose"].id)
    tokens, repeats = wishes.tokens or SUSTAINED_TOKENS, wishes.repeats or 1
    load = {"streams": 1, "repeats": repeats, "requests": 1, "prompts": single, "max_tokens": tokens}
    small = {"streams": 2, "repeats": 1, "requests": 2, "prompts": double, "max_tokens": min(300, tokens)}
    cells = [Cell(key="subject", server=subject.key, role="subject", **load)]
    for server in others:
        if server.value("speculation"):
            cells.append(Cell(key=server.key, server=server.key, role="extra", **small))
            continue
        cells.append(Cell(key=server.key, server=server.key, role="reference", **load))
        if len(others) > 1:
            cells.append(Cell(key=f"{server.key}-2", server=server.key, role="reference", **small))
    temperature = _first(wishes.temperature, None, 0.0)
    cells += [*_further(cells, wishes), *_text(cells, servers, wishes, temperature)]
    used = {identifier for cell in cells for identifier in cell.prompts}
    return Plan(
        tool_version=tool_version,
        claim_digest=claim_digest,
        case=case.id,
        seed=seed,
        api=subject.api,
        temperature=temperature,
        ignore_eos=wishes.ignore_eos,
        cells=tuple(cells),
        prompts=tuple(prompt for prompt in pick() if prompt.id in used),
        stop=wishes.stop,
        quick=wishes.quick,
        rehearsal=True,
        discriminates=wishes.discriminate,
    )


def _ladder(cells: Sequence[Cell], wishes: Wishes) -> list[Cell]:
    """The judged load under each other number of streams."""
    subject = next(cell for cell in cells if cell.role == "subject")
    return [
        subject.model_copy(
            update={
                "key": f"streams-{streams}",
                "role": "extra",
                "streams": streams,
                "requests": _requests(streams, len(subject.prompts)),
            }
        )
        for streams in wishes.ladder
        if streams != subject.streams
    ]


def _further(cells: Sequence[Cell], wishes: Wishes) -> list[Cell]:
    """The judged load with the one change that is asked for; empty where none is."""
    if wishes.discriminate is None:
        return []
    subject = next(cell for cell in cells if cell.role == "subject")
    changed: dict[str, object] = {"max_tokens": max(1, subject.max_tokens // 2)}
    if wishes.discriminate.what == "streams":
        streams = subject.streams * 2
        changed = {"streams": streams, "requests": _requests(streams, len(subject.prompts))}
    return [subject.model_copy(update={"key": CELL, "role": "extra", **changed})]


def _text(cells: Sequence[Cell], servers: Sequence[ServerFacts], wishes: Wishes, temperature: float) -> list[Cell]:
    """The same few requests on the plain server, one at a time and eight at a time, and on the judged one."""
    if not wishes.check_text:
        return []
    subject = next(cell for cell in cells if cell.role == "subject")
    plain = next((server for server in servers[1:] if not server.value("speculation")), None)
    if plain is None:
        remedy = "give --pair URL" if not servers[0].embedded else "choose a --speculation other than none"
        raise UsageError("--check-text needs a server without speculation", remedy=remedy)
    if temperature:
        raise UsageError("--check-text compares greedy texts", remedy="give --temperature 0")
    if plain.api != "chat":
        raise UsageError("--check-text needs log-probabilities of the chat API", remedy="leave --api out")
    few = {"repeats": 1, "requests": textcheck.REQUESTS, "max_tokens": min(textcheck.TOKENS, subject.max_tokens)}
    shared = {**few, "role": "extra", "prompts": subject.prompts}
    return [
        Cell(key=textcheck.PLAIN, server=plain.key, streams=1, text="plain", **shared),
        Cell(key=textcheck.BATCHED, server=plain.key, streams=textcheck.REQUESTS, text="plain", **shared),
        Cell(key=textcheck.COMPARED, server=subject.server, streams=1, text="compared", **shared),
    ]


def _tolerance(case: Case) -> Tolerance:
    """An answer is long enough when it is as long as the claim says, if that is shorter than what counts as sustained;
    but no rate is made of a few tokens."""
    stated = case.workload.output_tokens or SUSTAINED_TOKENS
    return Tolerance(sustained_tokens=min(SUSTAINED_TOKENS, max(LEAST_TOKENS, stated)))


def _requests(streams: int, prompts: int) -> int:
    """Requests of a round: every prompt once; with several streams, two or more on each, and no stream left over.

    A last wave that leaves streams idle, or one that ends with the slowest answer, is no full load.
    """
    return prompts if streams == 1 else streams * max(2, -(-prompts // streams))


def _warmup(server: ServerFacts, load: dict[str, object]) -> Cell:
    """A little of everything on each server, so that nothing is compiled or loaded while it is measured."""
    return Cell.model_validate(
        {
            **load,
            "key": f"{server.key}-warmup",
            "server": server.key,
            "role": "warmup",
            "repeats": 1,
            "requests": load["streams"],
            "max_tokens": WARMUP_TOKENS,
            "rate": None,
            "arrivals": None,
        }
    )


def _prompts(case: Case, wishes: Wishes, seed: int) -> tuple[Prompt, ...]:
    """The reviewer's, the claim's own, and the suite, padded to the prompt length that the claim states."""
    own = [
        Prompt(id=f"claim-{i + 1}", kind="claim", origin="claim", messages=(Message(role="user", content=text),))
        for i, text in enumerate(case.workload.prompts)
    ]
    suite: tuple[Prompt, ...] = ()
    if wishes.suite:
        suite = pick(QUICK_KINDS) if wishes.quick else pick()
    prompts = [*wishes.prompts, *own, *suite]
    if not prompts:
        raise UsageError("there is no prompt to send", remedy="give --prompts FILE, or leave the suite in")
    if length := wishes.prompt_tokens or case.workload.prompt_tokens:
        prompts = [padded(prompt, length - _NONCE_TOKENS, seed + i) for i, prompt in enumerate(prompts)]
    return tuple(prompts)


def _fitted(tokens: int, prompts: Sequence[Prompt], server: ServerFacts, *, is_asked: bool) -> int:
    """The answer length that fits the context beside the longest prompt, as far as its tokens can be guessed.

    A length that the reviewer asked for is not cut: raises UsageError when it does not fit.
    """
    context = server.value("context_length")
    if not isinstance(context, int):
        return tokens
    longest = max(sum(about_tokens(message.content) for message in prompt.messages) for prompt in prompts)
    room = context - longest - _MARGIN_TOKENS
    if room < 1:
        raise UsageError(
            f"the longest prompt, about {longest:,} tokens, does not fit the context of {context:,}",
            where=server.url,
            remedy="raise the server's context length, or give shorter --prompts",
        )
    if is_asked and tokens > room:
        what = f"answers of {tokens:,} tokens do not fit the context of {context:,} beside the prompts"
        raise UsageError(what, where=server.url, remedy=f"give --tokens {room} or less")
    return min(tokens, room)


def _first(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0.0)
