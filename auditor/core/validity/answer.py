"""Is an answer valid output? What is wrong with its text, and where that begins."""

import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from auditor.core.record import Record
from auditor.core.validity.characters import broken_characters, wrong_decoding
from auditor.core.validity.endings import breaks_off
from auditor.core.validity.languages import unexpected
from auditor.core.validity.loops import find_loop, find_near_loop, find_run
from auditor.core.validity.order import order_of

FaultKind = Literal[
    "empty", "characters", "decoding", "token-run", "loop", "order", "garbage", "language", "broken-off"
]
CERTAIN: frozenset[FaultKind] = frozenset({"empty", "characters", "decoding", "token-run"})
"""What no model writes: one such answer tells of a broken server."""
DOUBTFUL: frozenset[FaultKind] = frozenset({"order", "garbage", "language"})
"""What statistics tell, which err, and what a small model does at times: it takes several answers."""
_ODD_SHARE = 0.01
_SHORT = 200
_NAN_TOKEN = re.compile(r"[!0]|<(?:unk|pad|s|/s|eos|bos)>|\[PAD\]|\[UNK\]|<\|[\w|-]{1,30}\|>")
"""Tokens that stand first in vocabularies, which a sampler takes of logits that are not numbers."""
_EARLY, _DEGENERATE_PERIOD = 0.05, 4
"""A loop of so few characters that begins in so small a share of the text has no answer before it."""
_ENDED_ITSELF = frozenset({"stop", "eos", "eos_token", "stop_sequence"})


class Fault(Record):
    """One thing that is wrong with an answer."""

    kind: FaultKind
    words: str
    begins: int = 0
    """Character from which on."""


class Validity(Record):
    """What was seen in one answer."""

    characters: int
    compression: float | None = None
    """Bytes of the text by bytes of it compressed; None without text."""
    faults: tuple[Fault, ...] = ()

    @property
    def words(self) -> str:
        """In a few words, what is wrong; empty when nothing is."""
        return ", ".join(fault.words for fault in self.faults)

    def fault(self, kinds: frozenset[FaultKind]) -> Fault | None:
        """The first fault of these kinds."""
        return next((fault for fault in self.faults if fault.kind in kinds), None)


@lru_cache(maxsize=4096)
def validity_of(text: str, *, prompt: str = "", finish: str | None = None) -> Validity:
    """Look at one answer; `finish` is its finish reason, as servers give it.

    Repetition that the model ended by itself is none that it ran into. Order, language and end are looked at only where
    the characters are sound and there is no loop, which says more. Several checks ask for the same.
    """
    if not text.strip():
        return Validity(characters=len(text), faults=(Fault(kind="empty", words="empty"),))
    ended = finish in _ENDED_ITSELF
    faults = [*_characters(text), *_repetition(text, ended=ended)]
    if not faults:
        faults = list(_writing(text, prompt, ended=ended))
    data = text.encode("utf-8", "replace")
    ratio = round(len(data) / len(zlib.compress(data, 9)), 2)
    return Validity(characters=len(text), compression=ratio, faults=tuple(faults))


def _characters(text: str) -> Iterator[Fault]:
    if (decoding := wrong_decoding(text)) is not None:
        yield Fault(kind="decoding", words=decoding)
        return
    broken = sum(broken_characters(text))
    if broken > (1 if len(text) < _SHORT else max(2, _ODD_SHARE * len(text))):
        first = next((at for at, char in enumerate(text) if not (char.isprintable() or char.isspace())), len(text))
        begins = min(first, text.find("\ufffd") % (len(text) + 1))
        yield Fault(kind="characters", words=f"{broken} broken characters", begins=begins)


def _repetition(text: str, *, ended: bool) -> Iterator[Fault]:
    run = find_run(text)
    if run is not None and _is_nan_token(run.piece):
        words = f"{run.piece!r} again and again from {_share(run.begins, text)}, as a sampler gives of NaN"
        yield Fault(kind="token-run", words=words, begins=run.begins)
        return
    if ended:
        return
    begins, period = find_loop(text)
    if begins is None and run is not None:
        begins, period = run.begins, run.period
    if begins is not None and period is not None:
        is_bare = begins < _EARLY * len(text) and period <= _DEGENERATE_PERIOD
        words = f"repeats {period} characters from {_share(begins, text)} to its end"
        yield Fault(kind="token-run" if is_bare else "loop", words=words, begins=begins)
    elif (near := find_near_loop(text)) is not None:
        words = f"says nearly the same again and again from {_share(near, text)} to its end"
        yield Fault(kind="loop", words=words, begins=near)


def _is_nan_token(piece: str) -> bool:
    """Whether it is such a token, from wherever in it the run is cut."""
    return any(_NAN_TOKEN.fullmatch(piece[at:] + piece[:at]) for at in range(len(piece)))


def _writing(text: str, prompt: str, *, ended: bool) -> Iterator[Fault]:
    order = order_of(text)
    if order is not None and order.is_salad:
        yield Fault(kind="garbage", words="tokens of several scripts or joined at random, in no known language")
    elif order is not None and order.is_shuffled:
        yield Fault(kind="order", words="words and signs in no order")
    elif prompt and (foreign := unexpected(text, prompt)) is not None:
        begins, language = foreign
        words = f"in a language that was not asked for ({language}) from {_share(begins, text)}"
        yield Fault(kind="language", words=words, begins=begins)
    elif ended and (how := breaks_off(text)) is not None:
        words = f"breaks off {how}, though it is said to be finished"
        yield Fault(kind="broken-off", words=words, begins=len(text))


def _share(begins: int, text: str) -> str:
    return f"{begins / len(text):.0%} of the text"
