"""Rules that are no numerator over a clock: best seconds, runs and requests, means of rates, sums over streams or GPUs,
and what the engine's own log showed."""

import math
from collections.abc import Callable, Iterable

from auditor.core.bases.kinds import Basis, Load, One, Rate, Sample, minus, per_second, plus

_EACH = "every request counted and timed"
_TIMES = "the times of events"
_TOKENS = "the tokens of each event, over two whole seconds or more"
_LOG = "lines of the engine's log within the round"
_GPUS = "the number of GPUs"


def _decode(s: Sample, load: Load) -> float | None:
    return per_second(minus(s.counts.delivered, s.first_tokens), s.decode_ns)


def _request(s: Sample, load: Load) -> float | None:
    return per_second(s.counts.delivered, s.e2e_ns)


def _output(s: Sample, load: Load) -> float | None:
    return per_second(s.counts.delivered, s.window_ns)


def _total(s: Sample, load: Load) -> float | None:
    return per_second(plus(s.counts.prompt_tokens, s.counts.delivered), s.window_ns)


def _drafted(s: Sample, load: Load) -> float | None:
    return per_second(s.counts.drafted, s.decode_ns)


def _verified(s: Sample, load: Load) -> float | None:
    return per_second(minus(plus(s.counts.first, s.counts.target_steps, s.counts.drafted), s.first_tokens), s.decode_ns)


def _delivered_drafted(s: Sample, load: Load) -> float | None:
    return per_second(minus(plus(s.counts.delivered, s.counts.drafted), s.first_tokens), s.decode_ns)


def _events(s: Sample, load: Load) -> float | None:
    return per_second(minus(s.counts.events, s.counts.requests), s.decode_ns)


def _times_streams(rate: Rate) -> Rate:
    return lambda s, load: None if (one := rate(s, load)) is None else one * load.streams


def _times_gpus(rate: Rate) -> Rate:
    return lambda s, load: None if (one := rate(s, load)) is None or not load.gpus else one * load.gpus


def _per_gpu(rate: Rate) -> Rate:
    return lambda s, load: None if (one := rate(s, load)) is None or not load.gpus else one / load.gpus


def _one_decode(one: One) -> float | None:
    return per_second(one.decode_tokens, one.decode_ns)


def _one_request(one: One) -> float | None:
    return per_second(one.delivered, one.e2e_ns)


def _of_each(rate: Callable[[One], float | None], combine: Callable[[list[float]], float]) -> Rate:
    def combined(s: Sample, load: Load) -> float | None:
        rates = [known for one in s.each if (known := rate(one)) is not None]
        return combine(rates) if rates and len(rates) == len(s.each) else None

    return combined


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return math.fsum(known) / len(known)


def _streams_by_tpot(s: Sample, load: Load) -> float | None:
    mean = _of_each(_one_decode, lambda rates: _mean(1 / rate for rate in rates if rate))(s, load)
    return load.streams / mean if mean else None


def _span(s: Sample, load: Load) -> float | None:
    return per_second(minus(s.counts.delivered, s.first_tokens), s.span_ns)


def _basis(identifier: str, name: str, formula: str, rate: Rate, is_honest: bool, needs: str, unit: str = "") -> Basis:
    return Basis(identifier, name, formula, rate, is_honest, needs, unit or "tokens/s")


_SINGLES = (
    _basis("peak/second", "delivered, best second", "max N in 1 s", lambda s, load: s.peak_tokens, True, _TOKENS),
    _basis("peak-total/second", "prompt + delivered, best second", "max (I + N) in 1 s", lambda s, load: s.peak_total,
           True, f"prompt tokens and {_TOKENS}"),
    _basis("peak-events/second", "events, best second", "max E in 1 s", lambda s, load: s.peak_events, False,
           "a stream of two whole seconds or more", "events/s"),
    _basis("fencepost/decode", "delivered, the first event counted and its time not", "N per s of decode",
           lambda s, load: per_second(s.counts.delivered, s.decode_ns), False, _TIMES),
    _basis("mean-of-rates/decode", "mean of the decode rates of single requests", "mean((N - n_first) / decode)",
           _of_each(_one_decode, _mean), True, _EACH),
    _basis("mean-of-rates/request", "mean of the request rates of single requests", "mean(N / e2e)",
           _of_each(_one_request, _mean), True, _EACH),
    _basis("best-request/decode", "decode rate of the best request", "max((N - n_first) / decode)",
           _of_each(_one_decode, max), False, _EACH),
    _basis("best-request/request", "request rate of the best request", "max(N / e2e)", _of_each(_one_request, max),
           False, _EACH),
    _basis("log/mean", "engine log, mean of its lines", "mean(generation throughput)",
           lambda s, load: _mean(s.log_rates) if s.log_rates else None, False, _LOG),
    _basis("log/best", "engine log, best line", "max(generation throughput)",
           lambda s, load: max(s.log_rates, default=None), False, _LOG),
)  # fmt: skip

_BEST_RUNS = (
    Basis("best-run/decode", "decode rate of the best run", "max over repeats of delivered/decode", _decode, False,
          _TIMES, is_best=True),
    Basis("best-run/request", "request rate of the best run", "max over repeats of delivered/request", _request, False,
          _TIMES, is_best=True),
    Basis("best-run/system", "output of all streams in the best run", "max over repeats of delivered/system", _output,
          False, _TIMES, is_best=True),
)  # fmt: skip

_STREAMS = (
    _basis("span/system", "delivered after the first events, first token to last token of all streams",
           "(N - n_first) / (last - first)", _span, False, _TIMES),
    _basis("streams/tpot", "streams by the mean time per token", "C / mean(tpot)", _streams_by_tpot, False, _EACH),
    _basis("decode-x-streams", "decode rate of one stream times streams", "C x (N - n_first) / decode",
           _times_streams(_decode), False, _TIMES),
    _basis("request-x-streams", "request rate of one stream times streams", "C x N / e2e", _times_streams(_request),
           False, _TIMES),
    _basis("drafted-x-streams", "drafted by one stream times streams", "C x D / decode", _times_streams(_drafted),
           False, "drafts counted by the server"),
    _basis("verified-x-streams", "verified positions of one stream times streams", "C x (F + P + S + D) / decode",
           _times_streams(_verified), False, "steps and drafts", "positions/s"),
    _basis("delivered+drafted-x-streams", "delivered + drafted of one stream times streams", "C x (N + D) / decode",
           _times_streams(_delivered_drafted), False, "drafts counted by the server"),
    _basis("events-x-streams", "events of one stream times streams", "C x E / decode", _times_streams(_events), False,
           "a stream", "events/s"),
)  # fmt: skip

_BY_GPUS = (
    _basis("delivered/gpu", "delivered by all streams, per GPU", "N / W / G", _per_gpu(_output), True, _GPUS),
    _basis("total/gpu", "prompt + delivered of all streams, per GPU", "(I + N) / W / G", _per_gpu(_total), True,
           f"prompt tokens and {_GPUS}"),
    _basis("decode/gpu", "decode rate of one stream, per GPU", "(N - n_first) / decode / G", _per_gpu(_decode), False,
           _GPUS),
    _basis("decode-x-gpus", "decode rate of one stream times GPUs", "G x (N - n_first) / decode", _times_gpus(_decode),
           False, _GPUS),
    _basis("delivered-x-gpus", "delivered by all streams times GPUs", "G x N / W", _times_gpus(_output), False, _GPUS),
)  # fmt: skip

OTHERS: tuple[Basis, ...] = (*_SINGLES, *_BEST_RUNS, *_STREAMS, *_BY_GPUS)
"""Every rule of this kind."""

SEVERAL_STREAMS = frozenset(basis.id for basis in _STREAMS) | {"best-run/system"}
"""Rules that are the same as another with one stream."""
SEVERAL_REQUESTS = frozenset(basis.id for basis in _SINGLES if basis.id.startswith(("mean-of-rates", "best-request")))
"""Rules that are the same as another with one request a round."""
SEVERAL_GPUS = frozenset(basis.id for basis in _BY_GPUS)
"""Rules that are the same as another with one GPU."""
