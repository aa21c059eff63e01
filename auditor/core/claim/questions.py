"""What a claim leaves open, as questions to the one who published it."""

from auditor.core.claim.record import Case
from auditor.core.claim.types import Basis, OutcomeStated

_SINGLE = (Basis.DECODE, Basis.REQUEST)
_NO_RATE = (OutcomeStated.NAN, OutcomeStated.FAILED, OutcomeStated.UNSUPPORTED)


def questions_for(case: Case) -> tuple[str, ...]:
    """The ambiguities of one measurement, the weightiest first; empty if it leaves nothing open."""
    if case.reported.outcome in _NO_RATE:
        return (*_on_model(case), *_on_engine(case), *_on_hardware(case))
    return (
        *_on_number(case),
        *_on_speculation(case),
        *_on_model(case),
        *_on_engine(case),
        *_on_hardware(case),
        *_on_workload(case),
    )


def _on_number(case: Case) -> list[str]:
    reported, asked = case.reported, []
    number = reported.as_text()
    if not reported.has_number:
        return ["Number: how many tokens per second were measured, and on which basis?"]
    if reported.basis is None:
        asked.append(
            f"Basis: is {number} the decode rate of one stream, one request with its wait for the first token, the "
            "output of all streams together, prompt and output together, or a peak?"
        )
    if reported.basis is Basis.AGGREGATE:
        asked.append("Basis: are prompt tokens in the aggregate, or output tokens only?")
    if reported.basis is Basis.PEAK:
        asked.append("Peak: over how long a bucket, of output or of all tokens, and what was the mean of the same run?")
    if reported.range is not None:
        asked.append(f"Range: what differs between the ends of {number}: prompts, load, settings, or chance?")
    if reported.window is None:
        asked.append(
            "Window: between which marks was it measured (first token to last, sending to end, a whole run, its best "
            "second, a log interval), over how many tokens, and in how many repeats?"
        )
    if reported.counter is None:
        asked.append(
            "Counter: what counted the tokens: the server's usage, a server counter, the engine's log, streamed "
            "events, a tokenizer over the text, or the requested length?"
        )
    if reported.streams is None and case.workload.concurrency is None and reported.basis not in _SINGLE:
        asked.append("Streams: how many requests were in flight?")
    if reported.per_gpu is None and reported.basis not in (*_SINGLE, Basis.PER_GPU) and case.hardware.count != 1:
        asked.append("Share: is the number for all GPUs together or for each?")
    return asked


def _on_speculation(case: Case) -> list[str]:
    speculation, asked = case.speculation, []
    if speculation.is_off:
        return []
    if speculation.method is None:
        asked.append("Speculation: was speculative decoding on, and with which method?")
    if speculation.draft_tokens is None:
        asked.append("Draft width: how many tokens were drafted per step (k), if any?")
    acceptance = speculation.acceptance_range()
    if acceptance is None and speculation.acceptance_length is None:
        asked.append("Acceptance: what were the acceptance rate and the acceptance length, and what reported them?")
    if acceptance is not None and speculation.acceptance_definition is None:
        low, high = acceptance
        span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        asked.append(
            f"Acceptance: what is {span} a share of: accepted of drafted tokens, each position given those before it, "
            "or tokens with the bonus of verified positions?"
        )
    asked.append("Rejected drafts: are drafted tokens that were rejected in the number, or only delivered ones?")
    return asked


def _on_model(case: Case) -> list[str]:
    model, asked = case.model, []
    if model.id is None:
        asked.append("Model: which model?")
    if model.quantisation is None:
        asked.append("Quantisation: in which number format were the weights?")
    if model.checkpoint is None:
        asked.append("Checkpoint: which repository and revision were the weights from?")
    if model.kv_cache_dtype is None:
        asked.append("KV cache: in which number format?")
    return asked


def _on_engine(case: Case) -> list[str]:
    engine, asked = case.engine, []
    if engine.name is None:
        asked.append("Engine: which engine, and which version?")
    elif len(engine.kinds()) > 1:
        asked.append(f"Engine: which one gave this number: {engine.name}?")
    if engine.is_fork and engine.fork.url is None and engine.fork.name is not None:
        asked.append("Fork: at which address is its code?")
    if engine.is_fork and engine.fork.commit is None:
        asked.append("Commit: which commit was measured, with which local changes?")
    elif engine.name is not None and engine.version is None and not engine.is_fork:
        asked.append("Version: which version or image of the engine?")
    size = engine.parallelism
    if case.hardware.count != 1 and (size.tp, size.pp, size.ep, size.dp) == (None, None, None, None):
        asked.append("Parallelism: how was the model spread over the GPUs?")
    if not engine.argv:
        asked.append("Launch: what was the launch command, with its environment?")
    return asked


def _on_hardware(case: Case) -> list[str]:
    hardware, asked = case.hardware, []
    if hardware.gpu is None:
        asked.append("GPU: which GPU?")
    elif "6000" in hardware.gpu and not any(word in hardware.gpu.lower() for word in _EDITIONS):
        asked.append("Edition: Workstation, Max-Q or Server? Their memory clocks and power limits differ.")
    if hardware.count is None:
        asked.append("GPUs: how many?")
    if hardware.count != 1 and hardware.link is None:
        asked.append("Link: how are the GPUs linked, and was peer-to-peer on?")
    if hardware.power_limit_w is None:
        asked.append("Power: what was the power limit of each GPU?")
    return asked


_EDITIONS = ("workstation", "-ws", "max-q", "maxq", "server", "ada")


def _on_workload(case: Case) -> list[str]:
    workload, asked = case.workload, []
    if workload.prompt_tokens is None:
        asked.append("Prompt: how many tokens long, and was any of it cached?")
    if workload.output_tokens is None:
        asked.append("Answer: how many tokens long, and was its end forced?")
    if not workload.prompts and workload.dataset is None:
        asked.append("Prompts: which ones?")
    if workload.sampling.temperature is None:
        asked.append("Sampling: at which temperature?")
    return asked
