"""The templates of the site: pages that ask for nothing, and pictures."""

from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from auditor.report.site.pictures import CARD_HEIGHT, CARD_WIDTH, tokens
from auditor.report.templating import environment, policy_digest, text_of


@cache
def _environment() -> Environment:
    made = environment("site")
    css, script = text_of("style.css", "site/site.css"), text_of("site/table.js")
    made.globals.update(
        css=Markup(css),
        style_digest=policy_digest(css),
        script=Markup(script),
        script_digest=policy_digest(script),
        tokens=tokens(),
        card_width=CARD_WIDTH,
        card_height=CARD_HEIGHT,
    )
    return made


def page(template: str, *, place: str, **values: Any) -> bytes:
    """A page; `place` is its folder from the root of the site, empty or with a slash at its end."""
    root = "../" * place.count("/")
    return _environment().get_template(template).render(root=root, place=place, **values).encode("utf-8")


def picture(template: str, **values: Any) -> str:
    """An SVG."""
    return _environment().get_template(template).render(**values)
