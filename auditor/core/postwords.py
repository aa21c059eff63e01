"""The words by which posts state things: patterns only, each of bounded length so that no text makes them slow.

A group named `v` (or any group, for whole numbers) holds the value; without one it is the whole match.
"""

import re

_UNIT = r"(?:tok(?:en)?s?\s?(?:/|\bper\s)\s?s(?:ec(?:ond)?s?)?\b|t/s\b|tps\b|toks\b)"
_NUMBER = r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,3})?|\d{1,9}(?:\.\d{1,6})?"
RATE = re.compile(
    rf"(?<![\w.,/-])(?P<about>~\s?|≈\s?|\babout\s|\baround\s|\broughly\s)?(?P<low>{_NUMBER})\s?\+?"
    rf"(?:\s?(?:-|–|—|to)\s?(?P<high>{_NUMBER}))?\s?(?:[a-z]{{3,10}}\s)?{_UNIT}",
    re.IGNORECASE,
)
_BASES = (
    ("per_gpu", r"\bper[\s-]gpu\b|/gpu\b"),
    ("per_user", r"\bper[\s-](?:user|stream|request)\b|/user\b"),
    ("peak", r"\bpeak\b"),
    ("total", r"\btotal\s(?:token\s)?throughput\b|\binput\s?\+\s?output\b|\btotal\stok"),
    ("output", r"\boutput\s(?:token\s)?throughput\b|\boutput\stok"),
    ("aggregate", r"\baggregate\b"),
    ("prefill", r"\bprefill\b|\bprompt\sprocessing\b"),
    ("drafted", r"\bdrafted\b"),
    ("decode", r"\bdecode\b|\bdecoding\sspeed\b"),
)
BASES = tuple((basis, re.compile(pattern, re.IGNORECASE)) for basis, pattern in _BASES)
STREAMS = re.compile(
    r"\b(?:concurrency|concurrent\srequests|batch(?:\ssize)?)\s?(?:=|:|of)?\s?(?P<after>\d{1,5})\b"
    r"|\b(?:c|bs)\s?=\s?(?P<short>\d{1,5})\b"
    r"|\b(?P<before>\d{1,5})\s(?:concurrent|parallel|simultaneous)\b"
    r"|\b(?P<one>single[\s-](?:stream|user|request))\b",
    re.IGNORECASE,
)

_GPU_NAMES = (
    ("rtx-pro-6000-blackwell-maxq", r"RTX\s?PRO\s?6000[\w\s]{0,12}Max-?Q"),
    ("rtx-pro-6000-blackwell-server", r"RTX\s?PRO\s?6000[\w\s]{0,12}Server(?:\sEdition)?"),
    ("rtx-pro-6000-blackwell-ws", r"RTX\s?PRO\s?6000[\w\s]{0,12}Workstation(?:\sEdition)?"),
    ("rtx-pro-6000-blackwell", r"(?:RTX\s?)?PRO\s?6000(?:\sBlackwell)?|RTX\s?6000\s?PRO"),
    ("rtx-pro-5000-blackwell", r"RTX\s?PRO\s?5000"),
    ("rtx-pro-4500-blackwell", r"RTX\s?PRO\s?4500"),
    ("rtx-pro-4000-blackwell", r"RTX\s?PRO\s?4000"),
    ("rtx-6000-ada", r"RTX\s?6000\s?Ada"),
    *((f"rtx-{n}-ti", rf"(?:RTX\s?)?{n}\s?Ti\b") for n in ("5070", "5060")),
    *(
        (f"rtx-{n}", rf"(?:RTX\s?|(?<=[x×])|(?<=[x×]\s)){n}\b(?!\s?Ti)")
        for n in ("5090", "5080", "5070", "4090", "3090")
    ),
    ("dgx-spark-gb10", r"DGX\s?Spark|\bGB10\b"),
    ("jetson-thor", r"Jetson\s(?:AGX\s)?Thor"),
    ("gb300", r"\bGB300\b"),
    ("gb200", r"\bGB200\b"),
    ("gh200", r"\bGH200\b"),
    ("b300", r"\bB300\b"),
    ("b200", r"\bB200\b"),
    ("h200", r"\bH200\b"),
    ("h100-pcie", r"\bH100\sPCIe\b"),
    ("h100-sxm", r"\bH100\sSXM5?\b"),
    ("a100-sxm-80", r"\bA100[\s-]SXM4?[\s-]80\s?GB\b"),
    ("l40s", r"\bL40S\b"),
    *((f"mi{n}x", rf"\bMI{n}X\b") for n in ("300", "325", "355")),
)
_COUNT_BEFORE = (
    r"(?:(?P<count>\d{1,3})\s?[x×]\s?(?:NVIDIA\s|AMD\s)?|(?P<word>two|four|six|eight|dual|quad)\s(?:NVIDIA\s)?)?"
)
COUNT_WORDS = {"two": 2, "dual": 2, "four": 4, "quad": 4, "six": 6, "eight": 8}
GPUS = tuple((gpu, re.compile(f"{_COUNT_BEFORE}(?:{pattern})", re.IGNORECASE)) for gpu, pattern in _GPU_NAMES)

_SIMPLE = (
    (
        "model.id",
        r"\b(?:Qwen|QwQ|GLM|Kimi|DeepSeek|MiniMax|gpt-oss|Llama|Mistral|Devstral|Gemma|Nemotron)"
        r"[- ]?(?:[A-Z]?\d[\w.]{0,8}|K2|oss)(?:-[\w.]{1,20}){0,6}",
    ),
    (
        "model.quantisation",
        r"\b(?:NVFP4|MXFP4|INT4|INT8|FP8|BF16|FP16|AWQ|GPTQ|I?Q[2-8]_[A-Z0-9]{1,3}(?:_[A-Z0-9]{1,3})?)\b"
        r"(?!\s?(?:KV|attention|cache))",
    ),
    ("model.kv_cache_dtype", r"\b(?P<v>FP8|BF16|FP16|INT8|NVFP4)\s?KV\b"),
    (
        "engine.name",
        r"\b(?:vLLM|SGLang|TensorRT-LLM|TRT-LLM|llama\.cpp|Ollama|LM\sStudio|LMDeploy|KTransformers|ExLlama(?:V\d)?)\b",
    ),
    ("engine.version", r"\b(?:vLLM|SGLang|TensorRT-LLM|Ollama|LMDeploy)\sv?(?P<v>\d{1,2}\.\d{1,3}[\w.+]{0,20})"),
    (
        "engine.fork.url",
        r"\bfork\b[^\n]{0,60}?(?P<v>https?://(?:github|gitlab)\.com/[\w.-]{1,60}/[\w.-]{1,80})(?=$|[\s)\]>,/])",
    ),
    ("engine.fork.commit", r"(?:\bcommit\s|/commit/|@)(?P<v>[0-9a-f]{7,40})\b"),
    ("speculation.method", r"\b(?:MTP|NEXTN|EAGLE-?[23]?|Medusa|DFlash|n-?gram)\b"),
    ("hardware.power_limit_w", r"\b(?:power\s(?:limit|cap)(?:ped)?\s(?:to|of|at)\s|capped\sat\s)(?P<v>\d{2,4})\s?W\b"),
    ("hardware.driver", r"\bdriver\s(?:version\s)?v?(?P<v>\d{3}\.\d{2,3}(?:\.\d{2})?)"),
    ("hardware.cuda", r"\bCUDA\s(?P<v>\d{1,2}\.\d{1,2})"),
)
SIMPLE = tuple((field, re.compile(pattern, re.IGNORECASE)) for field, pattern in _SIMPLE)
_WHOLE = (
    (
        "speculation.draft_tokens",
        r"\bMTP\s?[-=:]\s?(?P<v>\d{1,2})\b|\bnum_speculative_tokens\W{1,4}(?P<w>\d{1,2})\b"
        r"|\b(?-i:k)\s?=\s?(?P<x>\d{1,2})\b",
    ),
    ("engine.parallelism.tp", r"\b(?:TP|tensor[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,3})\b"),
    ("engine.parallelism.pp", r"\b(?:PP|pipeline[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,2})\b"),
    ("engine.parallelism.ep", r"\b(?:EP|expert[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,3})\b"),
)
WHOLE = tuple((field, re.compile(pattern, re.IGNORECASE)) for field, pattern in _WHOLE)
CONTEXT = re.compile(
    r"\b(?P<n>\d{1,4})\s?k\s(?:max(?:imum)?\s)?(?:context|ctx|len)\b|\b(?:max[_-]model[_-]len|context[_-]length)\W{1,3}(?P<exact>\d{3,8})\b",
    re.IGNORECASE,
)
ACCEPTANCE = re.compile(
    r"(?P<low>\d{1,3}(?:\.\d)?)\s?%?(?:\s?(?:-|–|to)\s?(?P<high>\d{1,3}(?:\.\d)?))?\s?%\s(?:mtp\s|draft\s)?accept(?:ance|ed)\b"
    r"|\baccept(?:ance)?\srate\s?(?:of|=|:|is|was)?\s?(?P<low2>\d{1,3}(?:\.\d)?)\s?%?(?:\s?(?:-|–|to)\s?(?P<high2>\d{1,3}(?:\.\d)?))?\s?%",
    re.IGNORECASE,
)
LENGTH = re.compile(r"\baccept(?:ance)?\slen(?:gth)?\s?(?:of|=|:|is|was)?\s?(?P<v>\d{1,2}\.\d{1,3})\b", re.IGNORECASE)
