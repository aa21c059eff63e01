"""The root command and the table of all commands."""

import importlib
import sys
from typing import Any

import click

from auditor import __version__
from auditor.errors import AuditError, Exit

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("auditor.cli.run:run", "Replay a claim against a live server and judge it."),
    "judge": ("auditor.cli.judge:judge", "Judge a run folder again, from its evidence alone."),
    "report": ("auditor.cli.judge:report", "Write the report of a run again."),
    "log": ("auditor.cli.log:log", "Print the timestamped token log of a run."),
    "list": ("auditor.cli.judge:list_runs", "List the runs and their verdicts."),
    "claims": ("auditor.cli.claims:claims", "Check, show and store claim files."),
    "init": ("auditor.cli.init:init", "Draft a claim file from a post or a few questions."),
    "local": ("auditor.cli.local:local", "Start, stop and look at the embedded server."),
    "db": ("auditor.cli.db:db", "Create, upgrade and look at the database."),
}
"""Name, where it lives, and its line in the help."""

EXIT_CODES = """\b
Exit codes:
  0    done; for run and judge: reproduced or exceeded
  1    the tool failed
  2    usage: a bad claim, option or file
  3    miscounted, not-reproduced, invalid-output or impossible
  4    unlabelled, not-comparable or inconclusive
  5    the server refused or could not be reached
  130  interrupted with nothing to judge"""


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the road."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself; imports its module."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="audit")
def root() -> None:
    """Audit a published claim about the speed of an LLM server.

    A claim file goes in, a live server is measured, and a verdict comes out with its evidence.
    """


def main(argv: list[str] | None = None) -> Any:
    """Entry point of the `audit` script: turns every expected error into one line and its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = root.main(args=arguments, prog_name="audit", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("audit: interrupted", err=True)
        sys.exit(Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except AuditError as error:
        from auditor.cli.output import report_error

        report_error(error, as_json="--json" in arguments)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(Exit.OK)
    sys.exit(code if isinstance(code, int) else Exit.OK)
