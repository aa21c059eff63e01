"""The counting basis on which a claim is judged: the one that it states, else the default."""

from auditor.core.bases import Load
from auditor.core.claim.claim import Basis, Case, Window

_BASIS_IDS = {
    Basis.DECODE: "delivered/decode",
    Basis.PER_USER: "delivered/decode",
    Basis.REQUEST: "delivered/request",
    Basis.OUTPUT: "delivered/system",
    Basis.AGGREGATE: "delivered/system",
    Basis.TOTAL: "total/system",
    Basis.PEAK: "peak/second",
    Basis.DRAFTED: "drafted/decode",
    Basis.CHUNKS: "events/decode",
}
_WINDOW_IDS = {
    Window.SEND_TO_END: "delivered/request",
    Window.RUN: "delivered/system",
    Window.BEST_SECOND: "peak/second",
}


def judged_basis(case: Case, load: Load) -> tuple[str, str]:
    """The id of the basis on which a claim is judged, and why that one."""
    found, because = _stated_basis(case, load)
    if load.streams == 1 and found.endswith("/system"):
        found = found.replace("/system", "/request")
    return found, because


def _stated_basis(case: Case, load: Load) -> tuple[str, str]:
    reported = case.reported
    if reported.per_gpu or reported.basis is Basis.PER_GPU:
        if load.gpus == 1:
            return "delivered/system", "the claim states a number per GPU, and there is one"
        return "delivered/gpu", "the claim states a number per GPU"
    if reported.basis is not None:
        return _BASIS_IDS.get(reported.basis, reported.basis.value), f"the claim states its basis: {reported.basis}"
    if reported.window in _WINDOW_IDS:
        return _WINDOW_IDS[reported.window], f"the claim states its window: {reported.window.replace('_', ' ')}"
    streams = reported.streams or case.workload.concurrency or 1
    if streams > 1:
        return "delivered/system", f"the claim states {streams} streams and no basis: all streams added"
    return "delivered/decode", "the claim states no basis: delivered tokens, decode, one stream, sustained"
