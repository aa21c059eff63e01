"""What all pages are rendered with: one way of escaping, and styles and scripts with what a content policy needs."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

TEMPLATES = Path(__file__).parent / "templates"
LONG_WORD = 22


def environment(*more: str) -> Environment:
    """The environment of the pages; templates in these folders below the common one go before its own."""
    made = Environment(
        loader=FileSystemLoader([*(TEMPLATES / name for name in more), TEMPLATES]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(ticks=ticks, is_long=is_long)
    return made


def text_of(*names: str) -> str:
    """The text of files beside the templates, one after the other: styles, scripts."""
    return "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def policy_digest(text: str) -> str:
    """The SHA-256 by which a content policy allows this style or script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def ticks(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = [escape(part) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def is_long(text: str) -> bool:
    """Whether a word of the text must be broken to fit."""
    return any(len(word) > LONG_WORD for word in text.split())
