"""What is known of a server and of the machine that measured it, and from where."""

from typing import Literal

from auditor.core.record import Record

FactName = Literal[
    "version",
    "model",
    "model_path",
    "quantisation",
    "kv_cache_dtype",
    "context_length",
    "streams_max",
    "speculation",
    "speculation_method",
    "draft_tokens",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "expert_parallel",
    "moe_backend",
    "attention_backend",
    "prefix_cache",
    "gpu",
    "gpu_count",
    "acceptance_mode",
]
"""The questions that are put to a server.

`speculation` is a bool; `acceptance_mode` says standard, synthetic or lossy; parallel sizes are counts; the rest is
text as the server gives it.
"""


Api = Literal["chat", "completions", "native"]
"""Which API is asked: one of OpenAI's two, or the server's own."""


class Fact(Record):
    """One answer, or the reason why there is none."""

    value: str | int | float | bool | None = None
    source: str | None = None
    """Where it was read, as `GET /props model_ftype`."""
    reason: str | None = None
    """Why there is no value."""


def known(value: str | int | float | bool, source: str) -> Fact:
    """A fact that was observed."""
    return Fact(value=value, source=source)


def unknown(reason: str) -> Fact:
    """A fact that could not be had."""
    return Fact(reason=reason)


class ServerFacts(Record):
    """One server, as it described itself."""

    key: str
    """Name of the server within the run: `subject`, `plain`, ..."""
    url: str
    """Base address, without credentials or query."""
    kind: str
    """Name of the adapter that reads it: `vllm`, `llamacpp`, `sglang`, `generic`."""
    kind_reason: str
    """What gave the kind away."""
    model: str
    """The name to ask for in requests."""
    api: Api = "chat"
    request_fields: dict[str, object] = {}
    """Extra fields that this server understood, sent with every request."""
    dropped_fields: dict[str, str] = {}
    """Extra fields that it refused, with its words."""
    metrics: bool = False
    """Whether counters could be scraped."""
    metrics_path: str | None = None
    """Where."""
    facts: dict[FactName, Fact] = {}
    embedded: bool = False
    """Started by this tool for a rehearsal."""

    def value(self, name: FactName) -> str | int | float | bool | None:
        """The observed value, None where there is none."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value


class HostFacts(Record):
    """The machine that ran the client."""

    platform: str
    python: str
    cpus: int
    machine: str
    packages: dict[str, str] = {}


class RunFacts(Record):
    """`facts.json`: everything that was learned before the first measured request."""

    facts_version: Literal[1] = 1
    servers: dict[str, ServerFacts]
    host: HostFacts
    clock: str = "CLOCK_MONOTONIC"
    kernel_stamps: bool = False
    """Whether socket reads carry the kernel's receive time."""
