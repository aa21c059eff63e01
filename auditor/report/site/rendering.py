"""The templates of the site: pages that ask for nothing, and pictures."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from auditor.report.site.pictures import CARD_HEIGHT, CARD_WIDTH, tokens

_TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader([_TEMPLATES / "site", _TEMPLATES]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.globals.update(
        css=Markup(_style()), style_digest=_digest(_style()),
        script=Markup(_script()), script_digest=_digest(_script()),
        tokens=tokens(), card_width=CARD_WIDTH, card_height=CARD_HEIGHT,
    )  # fmt: skip
    return made


def page(template: str, *, place: str, **values: Any) -> bytes:
    """A page; `place` is its folder from the root of the site, empty or with a slash at its end."""
    root = "../" * place.count("/")
    return _environment().get_template(template).render(root=root, place=place, **values).encode("utf-8")


def picture(template: str, **values: Any) -> str:
    """An SVG."""
    return _environment().get_template(template).render(**values)


def _style() -> str:
    return "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "site/site.css"))


def _script() -> str:
    return (_TEMPLATES / "site" / "table.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """As a content policy wants it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
