"""The words by which posts state things: patterns only, each of bounded length so that no text makes them slow.

A group named `v` (or any group, for whole numbers) holds the value; without one it is the whole match.
"""

import re

_UNIT = r"(?:tok(?:en)?s?\s?(?:/|\b(?:per|pro)\s)\s?s(?:ec(?:ond)?s?|ek(?:unden?)?)?\b|t/s\b|tps\b|toks\b)"
_NUMBER = r"\d{1,9}(?:[.,]\d{1,6}){0,3}"
_ABOUT = r"(?P<about>~\s?|≈\s?|\babout\s|\baround\s|\broughly\s|\betwa\s)?"
RATE = re.compile(
    rf"(?<![\w.,/-])(?P<between>(?:between|zwischen)\s)?{_ABOUT}(?P<low>{_NUMBER})(?P<low_k>\s?k\b)?\s?\+?"
    rf"(?:\s?(?(between)(?:and|und|to|-|–)|(?:-|–|—|to|bis))\s?(?P<high>{_NUMBER})(?P<high_k>\s?k\b)?)?"
    rf"\s?(?:[a-z]{{3,10}}\s)?{_UNIT}",
    re.IGNORECASE,
)
"""A rate or a range; which number the commas and points make of it is for the reader of the match."""
FROM = re.compile(r"(?<!range\s)(?<!ranges\s)(?<!ranging\s)\b(?:from|von)\s$", re.IGNORECASE)
"""`from 61 to 142` may be a change."""
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,3})?")
DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
POINT_OF_TWO_MEANINGS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
"""3.740 is 3740 to some and 3.74 to others."""
DECIMAL_COMMA = re.compile(
    r"(?<![\d.,])\d{1,3}(?:\.\d{3}){0,3},\d{1,2}(?![\d,])(?=\s?(?:k\b|tok|t/s|tps|ms\b|s\b|GB|%))", re.IGNORECASE
)
"""A post that writes 11,5 may mean 3.945 by 3,945."""
ANOTHER_NUMBER = re.compile(
    rf"(?<![\w.,/=-])(?:{_NUMBER})\s?(?:\sand\s|\sor\s|\sund\s|\soder\s|→|->)\s?$", re.IGNORECASE
)
_BASES = (
    ("per_gpu", r"\bper[\s-]gpu\b|/gpu\b"),
    ("per_user", r"\bper[\s-](?:user|stream|request)\b|/user\b|\b(?:je|pro)\sNutzer\b"),
    ("peak", r"\bpeak\b"),
    ("total", r"\btotal\s(?:token\s)?throughput\b|\binput\s?\+\s?output\b|\btotal\stok"),
    ("output", r"\boutput\s(?:token\s)?throughput\b|\boutput\stok"),
    ("aggregate", r"\baggregate\b"),
    (
        "prefill",
        r"\bprefill(?:ing)?\b|\bprompt\s(?:processing|eval(?:uation)?|throughput|rate|speed)\b|\bpp(?:\d{3,6}\b|\b(?!\s?[=:]?\s?\d{1,2}\b(?![.,]\d|\s?(?:t/s|tok|tps))))",
    ),
    ("drafted", r"\bdrafted\b"),
    ("decode", r"(?<!spec\s)(?<!speculative\s)\bdecode\b|\bdecoding\sspeed\b"),
)
BASES = tuple((basis, re.compile(pattern, re.IGNORECASE)) for basis, pattern in _BASES)
PROMPT = re.compile(
    r"(?<!same\s)(?<!long\s)(?<!short\s)(?<!single\s)(?<!one\s)(?<!k\s)(?<!\d\s)(?<!token\s)(?<!tokens\s)(?<!k-token\s)\bprompt\b(?!\s(?:of|length|tokens)\b)",
    re.IGNORECASE,
)
"""May say that a rate is of the prompt, or only what was asked."""
STRONG = re.compile(
    r"\s(?:and|but|while|whereas|or|versus|vs\.?|than|compared\s(?:with|to)|instead\sof|und|aber)\s", re.IGNORECASE
)
WEAK = re.compile(r",\s|→|->|\s/\s")
"""What parts the words of one rate from those of the next."""
COMPARES = re.compile(
    r"\b(?:before|after|baseline|without|w/o|vs\.?|versus|than|compared|ohne|vorher|nachher)(?!\w)", re.IGNORECASE
)
RIVAL = re.compile(
    r"\b(?:than|vs\.?|versus|compared\s(?:with|to)|unlike|beats?|beating|outperforms?|schneller\sals)"
    r"\s(?P<mid>[^,;()\n]{0,60})\Z|\b(?:stock|vanilla|mainline|upstream)[ \t](?:[\w-]{1,12}[ \t])?\Z",
    re.IGNORECASE,
)
"""What stands before the name of a rival."""
NO_RIVAL = re.compile(r"[.!?:]\s|\b(?:with|on|using|at|for|in|while|and|mit|auf)\b", re.IGNORECASE)
"""Words after which a name is no longer that of the rival."""
STREAMS = re.compile(
    r"\b(?:concurrency|concurrent\srequests|batch(?:\ssize)?)\s?(?:=|:|of)?\s?(?P<after>\d{1,5})\b"
    r"|\b(?:c|bs)\s?=\s?(?P<short>\d{1,5})\b"
    r"|\b(?P<before>\d{1,5})\s(?:concurrent|parallel(?:e[nr]?)?|simultaneous|gleichzeitige[nr]?)\b"
    r"|\b(?P<one>single[\s-](?:stream|user|request))\b",
    re.IGNORECASE,
)

_AFTER_COUNT = "|".join(rf"(?<={word}\s)" for word in ("two", "dual", "three", "four", "quad", "six", "eight"))
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
        (f"rtx-{n}", rf"(?:RTX\s?|(?<=[x×])|(?<=[x×]\s)|{_AFTER_COUNT}){n}(?:s\b|\b)(?!\s?Ti)|\b{n}s\b")
        for n in ("5090", "5080", "5070", "4090", "3090")
    ),
    ("dgx-spark-gb10", r"DGX\s?Spark|\bGB10\b"),
    ("jetson-thor", r"Jetson\s(?:AGX\s)?Thor"),
    ("gb300", r"\bGB300(?=s?\b)"),
    ("gb200", r"\bGB200(?=s?\b)"),
    ("gh200", r"\bGH200(?=s?\b)"),
    ("b300", r"\bB300(?=s?\b)"),
    ("b200", r"\bB200(?=s?\b)"),
    ("h200", r"\bH200(?=s?\b)"),
    ("h100-pcie", r"\bH100\sPCIe\b"),
    ("h100-sxm", r"\bH100\sSXM5?\b"),
    ("a100-sxm-80", r"\bA100[\s-]SXM4?[\s-]80\s?GB\b"),
    ("l40s", r"\bL40S\b"),
    *((f"mi{n}x", rf"\bMI{n}X\b") for n in ("300", "325", "355")),
)
_COUNT_BEFORE = (
    r"(?:(?P<count>\d{1,3})\s?[x×]\s?(?:NVIDIA\s|AMD\s)?|\b(?P<word>two|three|four|six|eight|dual|quad)\s(?:NVIDIA\s)?"
    r"|(?<![\w.,-])(?P<several>\d{1,3})\s(?:NVIDIA\s)?)?"
)
"""`several` is a count only before a plural: in `vLLM 17 H200` it is none."""
COUNT_WORDS = {"two": 2, "dual": 2, "three": 3, "four": 4, "quad": 4, "six": 6, "eight": 8}
GPUS = tuple((gpu, re.compile(f"{_COUNT_BEFORE}(?:{pattern})s?", re.IGNORECASE)) for gpu, pattern in _GPU_NAMES)

_SUFFIX = (
    r"Thinking|Instruct|Coder|Next|Flash|Air|Large|Small|Medium|Max|Plus|Pro|Mini|Maverick|Scout|Exp|Speciale|Terminus"
    r"|Base|Chat|Distill|Lite|Ultra|Super|Nano|VL|Omni|Turbo|Preview|Llama|Qwen|[AE]?\d{1,4}(?:\.\d)?[Bb]"
)
"""Words that make another model of a name; longer names are longer matches."""
UNSURE_SUFFIX = re.compile(
    r"\s(?:thinking|instruct|coder|next|flash|air|large|small|max|plus|pro|mini|base|chat|exp)\b", re.IGNORECASE
)
"""The same words where they may also be plain English."""
_SIMPLE = (
    (
        "model.id",
        r"\b(?:Qwen|QwQ|GLM|Kimi|DeepSeek|MiniMax|gpt-oss|Llama|Mistral|Devstral|Gemma|Nemotron)"
        r"[- ]?(?:[A-Z]?\d[\w.]{0,8}|K2|oss)(?:-[\w.]{1,20}){0,6}"
        rf"(?:[- ](?-i:{_SUFFIX})\b(?![./])){{0,5}}",
    ),
    (
        "model.quantisation",
        r"\b(?:NVFP4|MXFP4|INT4|INT8|FP8|BF16|FP16|AWQ|GPTQ|I?Q[2-8]_[A-Z0-9]{1,3}(?:_[A-Z0-9]{1,3})?)\b"
        r"(?!\s?(?:KV|attention|cache))",
    ),
    ("model.kv_cache_dtype", r"\b(?P<v>FP8|BF16|FP16|INT8|NVFP4)\s?KV\b"),
    (
        "engine.name",
        r"\b(?:vLLM|SGLang|TensorRT-LLM|TRT-LLM|llama\.cpp|llama-(?:server|bench|cli)|Ollama|LM\sStudio|LMDeploy|KTransformers|ExLlama(?:V\d)?)\b",
    ),
    ("engine.version", r"\b(?:vLLM|SGLang|TensorRT-LLM|Ollama|LMDeploy)\sv?(?P<v>\d{1,2}\.\d{1,3}[\w.+]{0,20})"),
    (
        "engine.fork.url",
        r"\bfork\b[^\n]{0,60}?(?P<v>https?://(?:github|gitlab)\.com/[\w.-]{1,60}/[\w.-]{1,80})(?=$|[\s)\]>,/])",
    ),
    ("engine.fork.commit", r"(?:\bcommit\s|/commit/|@)(?P<v>[0-9a-f]{7,40})\b"),
    ("speculation.method", r"\b(?:MTP|NEXTN|EAGLE-?[23]?|Medusa|DFlash|n-?gram)\b"),
    ("hardware.power_limit_w", r"\b(?:power\s(?:limit|cap)(?:ped)?\s(?:to|of|at)\s|capped\sat\s)(?P<v>\d{2,4})\s?W\b"),
    ("hardware.power_limit_w", r"\bpower\s(?:limit|cap)\s?[:=]?\s?(?P<v>\d{2,4})\s?W\b"),
    ("hardware.power_limit_w", r"(?<![\w.,-])(?P<v>\d{2,4})\s?W\s(?:power\s)?(?:limit|cap)\b"),
    ("hardware.link", r"\bPCI-?e\s(?:Gen\s?)?[3-6](?:\.0)?(?:\sx(?:4|8|16)\b)?|\bNVLink\b"),
    ("hardware.driver", r"\bdriver\s(?:version\s)?v?(?P<v>\d{3}\.\d{2,3}(?:\.\d{2})?|[3-6]\d\d\b)"),
    ("hardware.cuda", r"\bCUDA\s(?P<v>\d{1,2}\.\d{1,2}|1[0-4]\b)"),
)
SIMPLE = tuple((field, re.compile(pattern, re.IGNORECASE)) for field, pattern in _SIMPLE)
_WHOLE = (
    (
        "speculation.draft_tokens",
        r"\bMTP\s?[-=:]\s?(?P<v>\d{1,2})\b|\bnum[_-]speculative[_-]tokens\W{1,4}(?P<w>\d{1,2})\b"
        r"|--draft(?:-max|-n)?[\s=](?P<y>\d{1,2})\b|\bspeculative-num-draft-tokens[\s=](?P<z>\d{1,2})\b"
        r"|\b(?-i:k)\s?=\s?(?P<x>\d{1,2})\b",
    ),
    ("engine.parallelism.tp", r"\b(?:TP|tensor[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,3})\b"),
    (
        "engine.parallelism.pp",
        r"\b(?:PP|pipeline[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,2})\b",
    ),
    ("engine.parallelism.ep", r"\b(?:EP|expert[- ]parallel(?:[- ]size)?)\s?[=:]?\s?(?P<v>\d{1,3})\b"),
)
OFF = re.compile(
    r"\b(?:without|no|w/o|non|ohne|disabl(?:ed|ing))[\s-](?:any\s)?(?:MTP|NEXTN|EAGLE-?[23]?|spec(?:ulati(?:ve|on))?(?:\sdecod(?:e|ing))?)\b"
    r"|\b(?:MTP|spec(?:ulati(?:ve|on))?(?:\sdecod(?:e|ing))?)\s?(?:[=:]\s?|is\s|was\s|turned\s)?(?:off|disabled|none|false|0)\b",
    re.IGNORECASE,
)
"""Says that there was no speculation."""
OF_A_RATE = re.compile(r"[.,]\d|\s?(?:t/s|tok|tps|%)", re.IGNORECASE)
"""What follows a number that is no setting, as in `MTP: 61 tok/s`."""
WHOLE = tuple((field, re.compile(pattern, re.IGNORECASE)) for field, pattern in _WHOLE)
CONTEXT = re.compile(
    r"\b(?P<n>\d{1,4})\s?k\s(?:max(?:imum)?\s)?(?:context|ctx|len)\b|\b(?:max[_-]model[_-]len|context[_-]length)\W{1,3}(?P<exact>\d{3,8})\b",
    re.IGNORECASE,
)
ACCEPTANCE = re.compile(
    r"(?P<low>\d{1,3}(?:\.\d)?)\s?%?(?:\s?(?:-|–|to)\s?(?P<high>\d{1,3}(?:\.\d)?))?\s?%\s(?:mtp\s|draft\s)?accept(?:ance|ed)\b"
    r"|\baccept(?:ance(?:\srate)?|\srate)\s?(?:of|=|:|is|was)?\s?(?:around\s|about\s|roughly\s|~\s?|≈\s?)?(?P<low2>\d{1,3}(?:\.\d)?)\s?%?(?:\s?(?:-|–|to)\s?(?P<high2>\d{1,3}(?:\.\d)?))?\s?%",
    re.IGNORECASE,
)
LENGTH = re.compile(r"\baccept(?:ance)?\slen(?:gth)?\s?(?:of|=|:|is|was)?\s?(?P<v>\d{1,2}\.\d{1,3})\b", re.IGNORECASE)
