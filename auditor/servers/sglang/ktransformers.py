"""KTransformers: a fork of SGLang with experts on the processor, told apart by the arguments that place them there."""

from dataclasses import replace

from auditor.core.probing import Answers
from auditor.servers.sglang import ADAPTER as SGLANG
from auditor.servers.sglang import PATHS

_ARGUMENTS = ("kt_weight_path", "kt_method", "kt_num_gpu_experts")


def recognise(answers: Answers) -> str | None:
    """By the arguments that SGLang alone would leave unset."""
    for path in PATHS:
        info = answers.object(path)
        found = [name for name in _ARGUMENTS if info.get(name) not in (None, "")]
        if "tp_size" in info and "kt_weight_path" in found:
            return f"GET {path} {', '.join(found)}"
    return None


ADAPTER = replace(
    SGLANG,
    name="ktransformers",
    title="KTransformers",
    recognise=recognise,
    source="kt-kernel and the SGLang fork of kvcache-ai @95009ea6 (v0.7.0 + 5); shapes as SGLang's",
)
"""KTransformers."""
