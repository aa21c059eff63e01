"""The parts of a claim: who said it, on what, with what, how fast, under which load.

Every field is optional: what a source does not state is left out, and None means unstated.
"""

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from auditor.core.claim.text import is_redacted
from auditor.core.claim.types import (
    AcceptanceDefinition,
    Address,
    Commit,
    Count,
    Date,
    Fraction,
    Length,
    Line,
    Method,
    Part,
    Prose,
    Seed,
    ServerAddress,
    Share,
    Temperature,
    Tokens,
    Watts,
)

ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "trtllm",
    "trt-llm": "trtllm",
    "trtllm": "trtllm",
    "llama.cpp": "llamacpp",
    "llamacpp": "llamacpp",
    "ollama": "ollama",
    "lm studio": "lmstudio",
    "text-generation-inference": "tgi",
    "lmdeploy": "lmdeploy",
    "ktransformers": "ktransformers",
    "exllama": "exllama",
}
"""What people write, and the kind of server that it names."""


def holds_key(argv: Sequence[str]) -> bool:
    """Whether a launch command holds the key of an API or of the model hub."""
    for position, word in enumerate(argv):
        option, _, value = word.partition("=")
        value = value or "".join(argv[position + 1 : position + 2])
        if option.lstrip("-").replace("_", "-") in ("api-key", "hf-token") and not is_redacted(value):
            return True
    return False


class Source(Part):
    """Where it was published, and by whom."""

    url: Address | None = None
    """Address of the publication."""
    date: Date | None = None
    """Day, month or year of publication, as 2026-03-12."""
    kind: Line | None = None
    """Kind of claimant or publication, as `forum post`; no personal names."""
    quote: Line | None = None
    """A short quote: the words that make the claim."""
    evidence: Prose | None = None
    """What came with it: a log, a table, a command, or none."""


class Hardware(Part):
    """What it ran on."""

    gpu: Line | None = None
    """Id of the GPU (`rtx-pro-6000-blackwell-ws`), or its name as stated."""
    count: Count | None = None
    """Number of GPUs."""
    link: Line | None = None
    """How they are linked, as `PCIe 5.0 x16, peer to peer off`."""
    power_limit_w: Watts | None = None
    """Power limit of each GPU, watts."""
    os: Line | None = None
    """Operating system."""
    driver: Line | None = None
    """Version of the GPU driver."""
    cuda: Line | None = None
    """Version of CUDA or ROCm."""


class Model(Part):
    """What was served."""

    id: Line | None = None
    """Name of the model, as `qwen3.5-397b-a17b`."""
    quantisation: Line | None = None
    """Number format of the weights, as `NVFP4`."""
    checkpoint: Line | None = None
    """Repository or file of the weights, with its revision if stated."""
    kv_cache_dtype: Line | None = None
    """Number format of the KV cache."""


class Fork(Part):
    """A changed engine."""

    name: Line | None = None
    """What it is called, where there is no address."""
    url: Address | None = None
    """Address of its repository."""
    commit: Commit | None = None
    """Commit that was measured: 7 to 64 hexadecimal digits."""


class Parallelism(Part):
    """How the model was spread over GPUs."""

    tp: Count | None = None
    """Tensor parallel size."""
    pp: Count | None = None
    """Pipeline parallel size."""
    ep: Count | None = None
    """Expert parallel size."""
    dp: Count | None = None
    """Data parallel size."""


class Backends(Part):
    """The kernels that were chosen."""

    moe: Line | None = None
    """Mixture of experts."""
    attention: Line | None = None
    """Attention."""
    gemm: Line | None = None
    """Dense matrix products."""
    sampler: Line | None = None
    """Sampling."""
    allreduce: Line | None = None
    """All-reduce between GPUs."""


class Engine(Part):
    """What served it."""

    name: Line | None = None
    """Name of the engine, as `vLLM`."""
    version: Line | None = None
    """Version of the engine."""
    image: Line | None = None
    """Container image, with its digest if stated."""
    fork: Fork = Fork()
    """The fork, if it was one."""
    patches: tuple[Line, ...] = ()
    """Changes on top of the version or commit."""
    parallelism: Parallelism = Parallelism()
    """How the model was spread over GPUs."""
    backends: Backends = Backends()
    """The kernels that were chosen."""
    context_length: Tokens | None = None
    """Longest context the server was set to, tokens."""
    argv: tuple[Prose, ...] = ()
    """Launch command, one argument an entry."""
    env: dict[str, Prose] = {}
    """Environment variables of the launch."""

    def kinds(self) -> tuple[str, ...]:
        """The kinds of server that the name speaks of, in the spelling of the adapters; empty if none is known."""
        name = (self.name or "").lower()
        return tuple(dict.fromkeys(kind for word, kind in ENGINES.items() if word in name))

    @property
    def is_fork(self) -> bool:
        """Whether the claim says that the engine was changed."""
        return self.fork != Fork() or bool(self.patches)

    @model_validator(mode="after")
    def _no_secret(self) -> Self:
        if holds_key(self.argv):
            raise PydanticCustomError("claim", "argv holds a key; take it out, claims are public")
        return self


class Speculation(Part):
    """Speculative decoding."""

    method: Method | None = None
    """`mtp`, `nextn`, `eagle`, `eagle3`, `draft`, `ngram`, ..., or `none` where it was said to be off."""
    draft_tokens: Count | None = None
    """Most tokens drafted per step (k)."""
    acceptance: Fraction | None = None
    """Acceptance as a fraction from 0 to 1, or [low, high]."""
    acceptance_definition: AcceptanceDefinition | None = None
    """Which ratio the acceptance is."""
    acceptance_length: Length | None = None
    """Tokens per verify step, the bonus token included, or [low, high]."""
    draft_model: Line | None = None
    """Model that drafted."""

    @property
    def is_off(self) -> bool:
        """Whether the claim says that there was none."""
        return self.method == "none"

    def acceptance_range(self) -> tuple[float, float] | None:
        """Lowest and highest acceptance stated."""
        if self.acceptance is None or isinstance(self.acceptance, tuple):
            return self.acceptance
        return (self.acceptance, self.acceptance)

    @model_validator(mode="after")
    def _nothing_without_method(self) -> Self:
        rest = (self.draft_tokens, self.acceptance, self.acceptance_length, self.draft_model)
        if self.is_off and any(value is not None for value in rest):
            raise PydanticCustomError("claim", "says method none and describes speculation; keep one of the two")
        return self


class Sampling(Part):
    """How tokens were chosen."""

    temperature: Temperature | None = None
    """0 is greedy."""
    top_p: Share | None = None
    """Nucleus sampling."""
    top_k: Tokens | None = None
    """Most likely tokens considered."""
    seed: Seed | None = None
    """Seed of the server's random numbers."""
    ignore_eos: bool | None = None
    """Whether answers were forced to their full length."""
    thinking: bool | None = None
    """Whether the model was asked to reason first."""


class Workload(Part):
    """What was asked of it."""

    prompt_tokens: Tokens | None = None
    """Prompt length, tokens."""
    output_tokens: Tokens | None = None
    """Answer length, tokens."""
    dataset: Line | None = None
    """Where the prompts came from."""
    prompts: tuple[Prose, ...] = ()
    """The prompts themselves."""
    sampling: Sampling = Sampling()
    """How tokens were chosen."""
    concurrency: Count | None = None
    """Requests in flight, as the client was set."""
    requests: Count | None = None
    """Requests in all."""


class Server(Part):
    """Where it can be measured; normally given on the command line."""

    url: ServerAddress | None = None
    """Base address of the OpenAI-compatible server."""
    model: Line | None = None
    """Name to ask for in requests, where it is not the only one."""
    hardware_via: Line | None = None
    """Where its GPUs can be read: `local`, or a host as ssh knows it."""
