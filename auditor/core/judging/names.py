"""Whether two names mean the same thing: models, GPUs, number formats, versions, ways to speculate.

Each answer is True, False, or None where one name says less than the other and so nothing can be told.
"""

import re

from auditor.reference.gpus import find_cards

_FORMATS = re.compile(
    r"(?<![a-z0-9])(?:(?:nv|mx)?fp\d+|bf16|int\d+|w\d+a\d+|i?q\d+(?:[_ ](?:[0-9]|k|x{0,2}[sl]|nl|m))*|\d+-?bit|awq|gptq"
    r"|gguf|mlx|exl\d|modelopt|compressed[-_]tensors|dynamic|quanti[sz]ed|ud|safetensors|hf)(?![a-z0-9])"
)
"""Number formats and containers within the name of a model: they are compared apart."""
_MODEL_WORD = re.compile(r"a\d+(?:\.\d+)?b(?![a-z0-9])|\d+(?:\.\d+)+[a-z]*|\d+[a-z]*|[a-z]+")
_UNDERSCORED = re.compile(r"(?<=[a-z]\d)_(?=\d(?![a-z0-9]))")
"""The point of a version as file names have it: `Qwen3_5-397B`."""
_SAME_SPEED = re.compile(r"instruct|it|chat|a\d+(?:\.\d+)?b")
"""Words that a name may lack and still mean a model of the same shape; `a17b` repeats what the full name says."""
_OTHER_SHAPE = frozenset({
    "air", "flash", "mini", "nano", "lite", "small", "tiny", "micro", "medium", "large", "max", "plus", "pro",
    "turbo", "distill", "coder", "code", "vl", "vision", "omni", "math", "next", "scout", "maverick", "embedding",
    "reward", "guard", "draft",
})  # fmt: skip
"""Words that make it another model."""


def same_model(stated: str, observed: str) -> bool | None:
    """By the words of the names, without owner and number format: `Qwen3.5-397B` is `nvidia/Qwen3.5-397B-A17B-NVFP4`,
    `GLM-4` is not `GLM-4.5`, and `Qwen3.5` may be any size of it. A name without a number, as `default` or `weights`,
    tells nothing."""
    one, other = _model_words(stated), _model_words(observed)
    if one and one == other:
        return True
    if not all(any(character.isdigit() for word in words for character in word) for words in (one, other)):
        return None
    short, long = sorted((one, other), key=len)
    if long[: len(short)] != short:
        return False
    return False if _OTHER_SHAPE & set(long[len(short) :]) else None


def _model_words(text: str) -> list[str]:
    name = _FORMATS.sub(" ", text.lower().rstrip("/").rsplit("/", 1)[-1])
    name = _UNDERSCORED.sub(".", name)
    return [word for word in _MODEL_WORD.findall(name) if not _SAME_SPEED.fullmatch(word)]


_GPU_NOISE = frozenset({
    "nvidia", "amd", "intel", "geforce", "instinct", "edition", "gpu", "graphics", "tesla", "quadro", "blackwell",
    "hopper", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr7",
})  # fmt: skip
_MEMORY = re.compile(r"\d+gi?b")
_EDITIONS = ("maxq", "server", "workstation", "pcie", "nvl", "sxm")
"""Editions of one chip with other power limits; the first that is named counts."""
_GPU_SPELLINGS = (
    (r"max[- ]?q", "maxq"),
    (r"\bws\b", "workstation"),
    (r"\bse\b", "server"),
    (r"\bsxm\d\b", "sxm"),
    (r"\b(rtx|gtx)(?=\d)", r"\1 "),
    (r"^\d+ ?x ", ""),
)


def same_gpu(stated: str, observed: str) -> bool | None:
    """By the table of GPUs, else by chip, edition and memory: an RTX 5090 is no RTX 5090 D, and a Max-Q no workstation
    card; a name without its edition may be any."""
    answers = {_one_gpu(stated, part) for part in observed.split(" and ")}
    if len(answers) == 1:
        return answers.pop()
    return None  # several kinds in one machine: which was used is not told


def _one_gpu(stated: str, observed: str) -> bool | None:
    cards, seen = set(find_cards(stated)), set(find_cards(observed))
    if not cards or not seen:
        return _same_card(_card(stated), _card(observed))
    if not cards & seen:
        return False
    return True if len(cards | seen) == 1 else None


def _same_card(one: dict[str, str], other: dict[str, str]) -> bool | None:
    if not one["chip"] or not other["chip"]:
        return None
    if any(one[name] and other[name] and one[name] != other[name] for name in one):
        return False
    return True if one["edition"] == other["edition"] else None


def _card(text: str) -> dict[str, str]:
    """Chip, edition and memory; empty where the name does not say."""
    text = text.lower().replace("_", " ").replace("-", " ")
    for pattern, spelling in _GPU_SPELLINGS:
        text = re.sub(pattern, spelling, text)
    words = [word for word in re.findall(r"[a-z0-9]+", text) if word not in _GPU_NOISE]
    return {
        "chip": " ".join(sorted(word for word in words if word not in _EDITIONS and not _MEMORY.fullmatch(word))),
        "edition": next((edition for edition in _EDITIONS if edition in words), ""),
        "memory": next((word.replace("gib", "gb") for word in words if _MEMORY.fullmatch(word)), ""),
    }


_FORMAT_SPELLINGS = (
    (r"compressed[- ]tensors", "compressed_tensors"),
    (r"modelopt[_-]?fp4", "nvfp4"),
    (r"bfloat16", "bf16"),
    (r"float(16|32)", r"fp\1"),
    (r"\bhalf\b", "fp16"),
    (r"fp8_e\dm\d(fn)?", "fp8"),
    (r"(\d+)[- ]?bits?", r"int\1"),
    (r"_marlin", ""),
    (r" - (s)mall| - (m)edium| - (l)arge", r"_\1\2\3"),
)
_CONTAINERS = frozenset({
    "compressed_tensors", "modelopt", "quark", "bitsandbytes", "auto_round", "torchao", "gguf", "mixed", "auto",
})  # fmt: skip
"""What says how weights are stored and not in which format."""
_MAY_BE = (
    frozenset({"int4", "w4a16", "awq", "gptq"}),
    frozenset({"fp4", "nvfp4"}),
    frozenset({"fp4", "mxfp4"}),
    frozenset({"int8", "w8a8", "w8a16"}),
)
"""Names that may be for the same format."""


def same_format(stated: str, observed: str) -> bool | None:
    """By the format: `modelopt_fp4` is NVFP4, `Q4_K - Medium` is Q4_K_M, and compressed tensors may be anything."""
    one, other = _formats(stated), _formats(observed)
    if not one or not other:
        return None
    if one <= other or other <= one:
        return True
    both = one | other
    if both & _CONTAINERS or any(one & names and other & names for names in _MAY_BE):
        return None
    vague = any(a.startswith(f"{b}_") or b.startswith(f"{a}_") for a in one for b in other)
    return None if vague else False


def _formats(text: str) -> set[str]:
    text = text.lower()
    for pattern, spelling in _FORMAT_SPELLINGS:
        text = re.sub(pattern, spelling, text)
    return set(re.findall(r"[a-z0-9][a-z0-9_]*", text))


def same_version(stated: str, observed: str) -> bool | None:
    """By the numbers, as far as both go: 0.17 is 0.17.1, and 1.0 is not 0.1."""
    one, other = re.findall(r"\d+", stated), re.findall(r"\d+", observed)
    if not one or not other:
        return True if stated.strip().lower() == observed.strip().lower() else None
    return all(a == b for a, b in zip(map(int, one), map(int, other), strict=False))


_METHODS = {"nextn": "mtp", "standalone": "draft", "lookup": "ngram"}


def same_method(stated: str, observed: str) -> bool | None:
    """By the words: `ngram` is `ngram-simple`, `eagle` is not `eagle3`; SGLang runs MTP layers under the name EAGLE."""
    one, other = _methods(stated), _methods(observed)
    if not one or not other:
        return None
    if one <= other or other <= one:
        return True
    return None if {"mtp", "eagle"} <= one | other and "eagle" in one ^ other else False


def _methods(text: str) -> set[str]:
    text = re.sub(r"n-gram|prompt[-_ ]lookup", "ngram", re.sub(r"draft[-_ ]model", "draft", text.lower()))
    return {_METHODS.get(word, word) for word in re.findall(r"[a-z0-9]+", text)}


def same_words(stated: str, observed: str) -> bool | None:
    """Whether all words of one are among the other's."""
    one, other = (set(re.findall(r"[a-z0-9]+", text.lower())) for text in (stated, observed))
    if not one or not other:
        return None
    return one <= other or other <= one
