"""Text as classes of words: frequent words and signs by name, all others by their shape.

What stands beside what tells whether words are in an order that somebody would write, without a model. The tables of
`auditor.reference.wordorder` say it for some languages and for program text.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(
    r"(?P<line>\n)|(?P<sign>[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)|(?P<number>\d+)|(?P<other>[^\w\s]|_)"
)
LINE, NUMBER, SMALL, LARGE, SIGN = "\n", "0", "a", "A", "?"
"""Classes of what no table knows: a number, a word in small letters, one with a capital, a sign."""
SHAPES = (NUMBER, SMALL, LARGE, SIGN)


def tokens_of(text: str) -> Iterator[tuple[str, str, int]]:
    """Each word or sign with the class of its shape and where it begins.

    Scripts without spaces give a character each. A sign after a space is another one than a sign after a word, as an
    opening bracket is not where a comma is.
    """
    for match in _WORD.finditer(text):
        token, begins = match[0], match.start()
        match match.lastgroup:
            case "line":
                yield token, LINE, begins
            case "number":
                yield token, NUMBER, begins
            case "word":
                yield token.lower(), LARGE if token[0].isupper() else SMALL, begins
            case "sign":
                yield token, SMALL, begins
            case _:
                is_apart = begins > 0 and text[begins - 1].isspace()
                yield f" {token}" if is_apart else token, SIGN, begins
