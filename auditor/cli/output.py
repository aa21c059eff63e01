"""What commands print: text for people, or one JSON document with `--json`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from auditor.errors import AuditError, Exit

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Adds `--json` to a command; it arrives as `as_json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="One JSON document on standard output, text on standard error.",
    )(command)


class Output:
    """Where a command's words go.

    With `--json`, standard output holds exactly one JSON document and everything said to people goes to standard
    error.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def say(self, text: str) -> None:
        """A line for people."""
        click.echo(text, err=self.as_json)

    def note(self, text: str) -> None:
        """A line for people that is never part of the result: progress, warnings."""
        click.echo(text, err=True)

    def document(self, value: Any) -> None:
        """The result for programs; printed only with `--json`."""
        if self.as_json:
            data = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
            sys.stdout.write(data.decode() + "\n")


def write_page(path: Path, page: str) -> None:
    """Write a page where the user wants it; raises AuditError."""
    try:
        path.write_text(page, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise AuditError(getattr(error, "strerror", None) or str(error), where=str(path)) from None


def report_error(error: AuditError, code: Exit, *, as_json: bool, is_said: bool = False) -> None:
    """Say an error: one line on standard error unless that was said already, and a document with `--json`."""
    if not is_said:
        click.echo(f"audit: {error}", err=True)
    Output(as_json).document(
        {
            "error": {"what": error.what, "where": error.where, "remedy": error.remedy},
            "exit_code": int(code),
        }
    )
