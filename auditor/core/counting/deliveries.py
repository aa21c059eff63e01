"""The deliveries of a stream, held in columns: a few bytes each, so that ten million of them fit in memory."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, overload

from auditor.core.counting.steps import Delivery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNKNOWN = -1
"""In the column of tokens: nothing tells."""


class Texts(Sequence[str]):
    """Many short texts as one, with where each ends."""

    __slots__ = ("_ends", "_parts", "_size", "whole")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._ends = array("Q")
        self._size = 0
        self.whole = ""
        """All of them, one after the other; there after `close`."""

    def append(self, text: str) -> None:
        """Add one."""
        self._parts.append(text)
        self._size += len(text)
        self._ends.append(self._size)

    def extend(self, whole: str, lengths: Iterable[int]) -> None:
        """Add several, given as one text and the length of each."""
        self._parts.append(whole)
        ends = accumulate(lengths, initial=self._size)
        next(ends)
        self._ends.extend(ends)
        self._size += len(whole)

    @property
    def lengths(self) -> "NDArray[np.int64]":
        """Characters of each."""
        import numpy as np

        ends = np.frombuffer(self._ends, np.int64) if self._ends else np.empty(0, np.int64)
        return ends - np.concatenate((ends[:0], [0], ends[:-1]))[: len(ends)]

    def close(self) -> None:
        """No more will be added."""
        self.whole, self._parts = "".join(self._parts), []

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        return self.whole[self._ends[at - 1] if at else 0 : self._ends[at]]

    def at(self, index: int) -> str:
        """The text at that place; empty where none was added there."""
        return self[index] if -len(self) <= index < len(self) else ""

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self._ends:
            yield self.whole[start:end]
            start = end


class Deliveries(Sequence[Delivery]):
    """The deliveries of one stream, in order; what is added is there to be read after `close`."""

    def __init__(self) -> None:
        self._at = array("q")
        self._reads = array("Q")
        self._tokens = array("q")
        self.text, self.reasoning, self.tool = Texts(), Texts(), Texts()
        self.token_ids: list[tuple[int, ...] | None] | None = None
        """Of each; None where none has any."""
        self.is_marked = False
        """Whether the first names its step."""
        self._marked = 0

    def append(self, one: Delivery) -> None:
        """Add one."""
        if one.token_ids is not None and self.token_ids is None:
            self.token_ids = [None] * len(self)
        if self.token_ids is not None:
            self.token_ids.append(one.token_ids)
        if one.details is not None and one.details.step is not None:
            self._marked += 1
            self.is_marked = self.is_marked or not self._at
        for texts, text in ((self.reasoning, one.reasoning), (self.tool, one.tool)):
            if text or texts:
                texts.extend("", [0] * (len(self) - len(texts)))
                texts.append(text)
        self.text.append(one.text)
        self._at.append(one.at_ns)
        self._reads.append(one.read)
        self._tokens.append(UNKNOWN if one.tokens is None else one.tokens)

    def extend_plain(self, at_ns: int, read: int, whole: str, lengths: Sequence[int]) -> None:
        """Add deliveries of one read that tell nothing but their text: all texts as one, and the length of each."""
        count = len(lengths)
        self.text.extend(whole, lengths)
        for column in (self.reasoning, self.tool):
            if column:
                column.extend("", [0] * count)
        if self.token_ids is not None:
            self.token_ids += [None] * count
        self._at.extend((at_ns,) * count)
        self._reads.extend((read,) * count)
        self._tokens.extend((UNKNOWN,) * count)

    def close(self) -> None:
        """No more will be added."""
        for texts in (self.text, self.reasoning, self.tool):
            texts.close()

    @property
    def at_ns(self) -> "NDArray[np.int64]":
        """When each was whole."""
        import numpy as np

        return np.frombuffer(self._at, np.int64) if self._at else np.empty(0, np.int64)

    @property
    def tokens(self) -> "NDArray[np.int64]":
        """Tokens in each; UNKNOWN where nothing tells."""
        import numpy as np

        return np.frombuffer(self._tokens, np.int64) if self._tokens else np.empty(0, np.int64)

    @property
    def are_marked(self) -> bool:
        """Whether all of them name their steps."""
        return bool(self._at) and self._marked == len(self._at)

    @property
    def are_counted(self) -> bool:
        """Whether the tokens of each are known."""
        return bool((self.tokens != UNKNOWN).all())

    @property
    def largest(self) -> int | None:
        """Most tokens in one; None where nothing tells."""
        most = int(self.tokens.max(initial=UNKNOWN))
        return None if most == UNKNOWN else most

    @property
    def visible_tokens(self) -> int:
        """Tokens in those of which a reader sees anything."""
        import numpy as np

        seen = np.zeros(len(self), bool)
        for texts in (self.text, self.reasoning, self.tool):
            if texts:
                seen[: len(texts)] |= texts.lengths > 0
        return int(self.tokens[seen].sum())

    @property
    def sharing_a_read(self) -> int:
        """How many came in a read that brought another too."""
        import numpy as np

        if not self._reads:
            return 0
        counts = np.unique(np.frombuffer(self._reads, np.uint64), return_counts=True)[1]
        return int(counts[counts > 1].sum())

    @property
    def whole_text(self) -> str:
        """All visible text in order of arrival, reasoning and tool calls included."""
        if not self.reasoning and not self.tool:
            return self.text.whole
        return "".join(one.reasoning + one.text + one.tool for one in self)

    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, index: int) -> Delivery: ...
    @overload
    def __getitem__(self, index: slice) -> list[Delivery]: ...
    def __getitem__(self, index: int | slice) -> Delivery | list[Delivery]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        tokens = self._tokens[index]
        return Delivery(
            at_ns=self._at[index],
            read=self._reads[index],
            text=self.text[index],
            reasoning=self.reasoning.at(index),
            tool=self.tool.at(index),
            tokens=None if tokens == UNKNOWN else tokens,
            token_ids=None if self.token_ids is None else self.token_ids[index],
            details=None,
        )
