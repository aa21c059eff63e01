"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def database_option(command: F) -> F:
    """Adds `--database URL`; it arrives as `database`, None for `audit.db` in the working folder."""
    return click.option(
        "--database",
        metavar="URL",
        envvar="AUDIT_DATABASE_URL",
        show_envvar=True,
        help="Database address, as sqlite:///FILE or postgresql://USER@HOST/NAME. Default: audit.db in this folder.",
    )(command)
