"""What a server answered when the probe asked: kept whole, so that adapters read it without a socket."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from auditor.core.record import Record


class Answer(Record):
    """The answer to one GET."""

    path: str
    """What was asked, as `/props`."""
    status: int | None = None
    """The HTTP status; None when no answer came."""
    body: bytes = b""
    error: str | None = None
    """Why there is no answer, or why the body is cut."""

    @property
    def is_ok(self) -> bool:
        """Whether the body is the answer, whole."""
        return self.status == 200 and self.error is None

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", errors="replace")

    def parsed(self) -> Any:
        """The body as JSON; None when it is none or the answer is not good."""
        if not self.is_ok:
            return None
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None

    def why_not(self) -> str:
        """In a few words, why this answer says nothing: `GET /props: HTTP 404`."""
        if self.is_ok:
            return f"GET {self.path} does not tell it"
        return f"GET {self.path}: {self.error or f'HTTP {self.status}'}"


class Answers(Mapping[str, Answer]):
    """Answers by path; a path that was never asked has none."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self._answers = dict(answers or {})

    def __getitem__(self, path: str) -> Answer:
        return self._answers[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def with_(self, *answers: Answer) -> "Answers":
        """These answers and some more."""
        return Answers({**self._answers, **{answer.path: answer for answer in answers}})

    def text(self, path: str) -> str | None:
        """The body of a good answer."""
        answer = self.get(path)
        return answer.text if answer is not None and answer.is_ok else None

    def object(self, path: str) -> dict[str, Any]:
        """The JSON object of a good answer; empty when there is none."""
        answer = self.get(path)
        value = answer.parsed() if answer is not None else None
        return value if isinstance(value, dict) else {}

    def array(self, path: str) -> list[Any]:
        """The JSON array of a good answer; empty when there is none."""
        answer = self.get(path)
        value = answer.parsed() if answer is not None else None
        return value if isinstance(value, list) else []

    def why_not(self, path: str) -> str:
        """In a few words, why there is nothing from this path."""
        answer = self.get(path)
        return f"GET {path}: not asked" if answer is None else answer.why_not()

    def model_cards(self) -> list[dict[str, Any]]:
        """The entries of `/v1/models` that have a name."""
        data = self.object("/v1/models").get("data")
        cards = data if isinstance(data, list) else []
        return [card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
