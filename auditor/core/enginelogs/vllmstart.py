"""What vLLM says of itself when it starts."""

import re
from collections.abc import Iterator

from auditor.core.facts import Fact, FactName, known
from auditor.core.observed import public_path, told

NEEDLES = (
    b" version ",
    b"Initializing a V",
    b"Initializing an LLM engine",
    b"non-default args: ",
    b" MoE backend",
    b"attention backend",
    b"Using AttentionBackendEnum.",
    b"Unknown vLLM environment variable",
    b"Marlin kernel",
    b"disabling stats logging",
    b"device_name=",
)
_BANNER = re.compile(r" version (\S{1,100})\s*$")
_ENGINE = re.compile(r"Initializing an? (?:V\d )?LLM engine \(v([^)]{1,100})\) with config: (.*)")
_ARGS = "non-default args: "
_SPECULATION = re.compile(r"'speculative_config': ['\"]?\{(.{0,4000}?)\}")
_MOE = re.compile(r"Using '?(\w+)'? (?:(?:NvFp4|Fp8|Mxfp4|Unquantized|Int\w+) )?MoE backend")
_ATTENTION = re.compile(
    r"Using (?:AttentionBackendEnum\.)?(\w+)(?:(?: attention)? backend(?: out of|\.)| backend on V\d engine)"
)
_DEVICE = re.compile(r"device_name=([A-Za-z0-9_-]+?)(?:,|\.json)")
_UNKNOWN_ENV = re.compile(r"Unknown vLLM environment variable detected: (\w{1,100})")
_MODE = re.compile(r"['\"]rejection_sample_method['\"]: ['\"](\w+)['\"]")
_MODES = {"synthetic": "synthetic", "fly": "lossy"}
"""Rejection samplers that change what is accepted; all others are standard."""


def facts(text: str) -> Iterator[tuple[FactName, Fact]]:
    """Facts of one line, each with the words it was read from."""
    if "█" in text and (match := _BANNER.search(text)):
        yield "version", told(match[1], "start banner", "")
    if match := _ENGINE.search(text):
        yield "version", told(match[1], "engine configuration", "")
        yield from _engine(match[2])
    if _ARGS in text:
        yield from _arguments(text.partition(_ARGS)[2])
    if match := _MOE.search(text):
        yield "moe_backend", told(match[1], "MoE backend line", "")
    if match := _ATTENTION.search(text):
        yield "attention_backend", told(match[1], "attention backend line", "")
    if match := _DEVICE.search(text):
        yield "gpu", told(match[1].replace("_", " "), "name of the MoE configuration file", "")


def _engine(config: str) -> Iterator[tuple[FactName, Fact]]:
    patterns: tuple[tuple[FactName, str], ...] = (
        ("model", r"\bmodel='([^']*)'"),
        ("quantisation", r"\bquantization=([\w-]+)"),
        ("kv_cache_dtype", r"\bkv_cache_dtype=([\w.]+)"),
        ("speculation_method", r"SpeculativeConfig\(method='([^']*)'"),
    )
    sizes: tuple[tuple[FactName, str], ...] = (
        ("context_length", r"\bmax_seq_len=(\d{1,12})"),
        ("tensor_parallel", r"\btensor_parallel_size=(\d{1,12})"),
        ("pipeline_parallel", r"\bpipeline_parallel_size=(\d{1,12})"),
        ("data_parallel", r"\bdata_parallel_size=(\d{1,12})"),
        ("draft_tokens", r"num_spec_tokens=(\d{1,12})"),
    )
    for name, pattern in patterns:
        if (match := re.search(pattern, config)) and match[1] not in ("None", "auto"):
            value = public_path(match[1]) if name == "model" else match[1]
            yield name, told(value, "engine configuration", "")
    for name, pattern in sizes:
        if match := re.search(pattern, config):
            yield name, known(int(match[1]), "engine configuration")
    if match := re.search(r"speculative_config=(None|SpeculativeConfig)", config):
        yield "speculation", known(match[1] != "None", "engine configuration")
    if match := re.search(r"enable_prefix_caching=(True|False)", config):
        yield "prefix_cache", known(match[1] == "True", "engine configuration")


def _arguments(arguments: str) -> Iterator[tuple[FactName, Fact]]:
    """Only named values are taken out: the arguments may hold a key."""
    if match := re.search(r"'moe_backend': '(\w+)'", arguments.partition("'speculative_config'")[0]):
        yield "moe_backend", told(match[1], "launch arguments", "")
    match = _SPECULATION.search(arguments)
    if match is None:
        return
    config = match[1]
    yield "speculation", known(True, "launch arguments")
    if method := re.search(r"['\"]method['\"]: ['\"](\w+)['\"]", config):
        yield "speculation_method", known(method[1], "launch arguments")
    if width := re.search(r"['\"]num_speculative_tokens['\"]: (\d{1,12})", config):
        yield "draft_tokens", known(int(width[1]), "launch arguments")
    if mode := _MODE.search(config):
        yield "acceptance_mode", known(_MODES.get(mode[1], "standard"), "launch arguments, rejection_sample_method")
    elif re.search(r"['\"]synthetic_acceptance_\w+['\"]", config):
        yield "acceptance_mode", known("synthetic", "launch arguments, synthetic_acceptance")


UNLISTED = "variables that are set and that this build does not list, without effect or read by a fork's own code"


def signs(text: str) -> Iterator[tuple[str, str, bool]]:
    """Kind and words of what a line says about the server, and whether it makes acceptance doubtful."""
    if match := _UNKNOWN_ENV.search(text):
        yield UNLISTED, match[1], "ACCEPT" in match[1]
    if "backend out of potential backends" in text and (match := _MOE.search(text)):
        listed = re.search(r"potential backends: \[([^\]]{0,400})\]", text)
        names = listed[1].replace("'", "") if listed else "a list that is not printed"
        yield "backends for mixture of experts", f"{match[1]} out of {names}", False
    if "leveraging the Marlin kernel" in text:
        yield "weights", "FP4 unpacked by the Marlin kernel: four-bit weights, sixteen-bit arithmetic", False
    if "disabling stats logging" in text:
        yield "periodic lines", "switched off, for there are several API servers", False
