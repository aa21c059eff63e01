"""What a checkpoint declares of its quantisation: formats by module, and what it leaves out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from auditor.core.checkpoint.config import Config


@dataclass(frozen=True, slots=True)
class Declared:
    """The quantisation that a configuration declares."""

    method: str
    """As `modelopt`, `compressed-tensors`, `awq`."""
    form: str | None
    """Number format of what it quantises; None where it differs by module and `by_module` has it."""
    bits: int | None
    group_size: int | None
    kv_cache: str | None
    left_out: tuple[str, ...]
    """Patterns of modules that it leaves unquantised, as they are written."""
    by_module: Mapping[str, str]
    """Format by module, where the configuration gives one each."""
    source: str
    says_what_is_left_out: bool = True

    def format_of(self, module: str) -> str | None:
        """The declared format of a module; None where it is left out."""
        if any(matches(pattern, module) for pattern in self.left_out):
            return None
        for name, form in self.by_module.items():
            if module == name or module.startswith(f"{name}."):
                return form
        return self.form


def declared_in(config: Config, quant: Config | None) -> Declared | None:
    """What `hf_quant_config.json` declares, else the quantisation_config of `config.json`; None for neither."""
    inner = (quant or {}).get("quantization")
    if isinstance(inner, dict):
        return _modelopt(inner, "hf_quant_config.json")
    for owner in (config, *(part for part in config.values() if isinstance(part, dict))):
        found = owner.get("quantization_config")
        if isinstance(found, dict):
            return _in_config(found)
    return None


def _in_config(found: Mapping[str, Any]) -> Declared:
    method = str(found.get("quant_method", "")).lower()
    source = "config.json quantization_config"
    if method == "compressed-tensors" or "config_groups" in found:
        return _compressed(found, method or "modelopt", source)
    if method == "modelopt" or "quant_algo" in found:
        return _modelopt(found, source)
    left_out = _texts(found.get("modules_to_not_convert")) or _texts(found.get("ignored_layers"))
    bits = _whole(found.get("bits")) or _whole(found.get("w_bit"))
    if method in ("mxfp4", "nvfp4"):
        form: str | None = method.upper()
    elif method in ("fp8", "fbgemm_fp8"):
        form = "FP8"
    elif method == "bitsandbytes":
        form = "INT4" if found.get("load_in_4bit") else "INT8"
    else:
        form = _integer(bits, _whole(found.get("group_size"))) if bits else None
    return Declared(
        method=method or "not named",
        form=form,
        bits=bits,
        group_size=_whole(found.get("group_size")),
        kv_cache=None,
        left_out=left_out,
        by_module={},
        source=source,
        # AWQ, GPTQ and block-wise FP8 leave lm_head and routers alone without saying so.
        says_what_is_left_out=bool(left_out),
    )


def _modelopt(found: Mapping[str, Any], source: str) -> Declared:
    algorithm = _text(found.get("quant_algo"))
    listed = found.get("quantized_layers")
    by_module = {
        str(name): _spelled(_text(entry.get("quant_algo")))
        for name, entry in (listed.items() if isinstance(listed, dict) else ())
        if isinstance(entry, dict)
    }
    left_out = found.get("exclude_modules", found.get("ignore"))
    return Declared(
        method="modelopt",
        form=None if by_module else _spelled(algorithm),
        bits=None,
        group_size=_whole(found.get("group_size")),
        kv_cache=_text(found.get("kv_cache_quant_algo")) or _kv_scheme(found.get("kv_cache_scheme")),
        left_out=_texts(left_out),
        by_module={name: form for name, form in by_module.items() if form},
        source=source,
        says_what_is_left_out=isinstance(left_out, list),
    )


def _compressed(found: Mapping[str, Any], method: str, source: str) -> Declared:
    groups = found.get("config_groups")
    weights: dict[str, Any] = next(
        (
            group["weights"]
            for group in (groups.values() if isinstance(groups, dict) else ())
            if isinstance(group, dict) and isinstance(group.get("weights"), dict)
        ),
        {},
    )
    bits, kind, size = _whole(weights.get("num_bits")), weights.get("type"), _whole(weights.get("group_size"))
    form = None
    if bits and kind == "int":
        form = _integer(bits, size)
    elif bits == 4:
        form = "MXFP4" if size == 32 else "NVFP4"
    elif bits:
        form = f"FP{bits}"
    return Declared(
        method=method,
        form=form,
        bits=bits if kind == "int" else None,
        group_size=size,
        kv_cache=_kv_scheme(found.get("kv_cache_scheme")),
        left_out=_texts(found.get("ignore")),
        by_module={},
        source=source,
    )


_SLOW = re.compile(r"[+*}]\)+[+*{]|.{300}")
"""Expressions that could take for ever; no checkpoint needs them."""


def matches(pattern: str, module: str) -> bool:
    """Whether a pattern of an exclusion list means a module: a name, a prefix, a glob, or `re:` and an expression."""
    if pattern.startswith("re:"):
        try:
            return not _SLOW.search(pattern) and re.match(pattern[3:], module) is not None
        except re.error:
            return False
    if any(sign in pattern for sign in "*?["):
        return fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}.*")
    return module == pattern or module.startswith(f"{pattern}.") or f".{pattern}." in f".{module}."


def _spelled(algorithm: str | None) -> str | None:
    """`NVFP4`, `FP8`, `W4A16_AWQ` and the like as a number format."""
    if algorithm is None or algorithm.upper() == "MIXED_PRECISION":
        return None
    upper = algorithm.upper()
    for name in ("NVFP4", "MXFP4", "FP8"):
        if name in upper:
            return name
    found = re.match(r"(?:INT|W)(\d)", upper)
    return f"INT{found[1]}" if found else upper


def _integer(bits: int, group: int | None) -> str:
    """`INT4`, or `INT4 g32` where its scales take half a bit a weight."""
    return f"INT{bits} g32" if bits == 4 and group == 32 else f"INT{bits}"


def _kv_scheme(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    bits = _whole(value.get("num_bits"))
    return f"{'INT' if value.get('type') == 'int' else 'FP'}{bits}" if bits else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
