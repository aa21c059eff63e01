"""The root command and the table of all commands."""

import importlib
import os
import signal
import sys
import traceback
from contextlib import suppress
from difflib import get_close_matches
from typing import NoReturn

import click

from auditor import __version__
from auditor.errors import AuditError, Exit

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("auditor.cli.run:run", "Replay a claim against a live server and judge it."),
    "sweep": ("auditor.cli.sweep:sweep", "Start, audit and stop the server of each row of a matrix."),
    "judge": ("auditor.cli.judge:judge", "Judge a run folder again, from its evidence alone."),
    "report": ("auditor.cli.judge:report", "Write the report of a run again."),
    "bases": ("auditor.cli.bases:bases", "Print what a run gives under every counting rule."),
    "explain": ("auditor.cli.explain:explain", "Say which counting rules turn a measurement into a claim."),
    "ceiling": ("auditor.cli.ceiling:ceiling", "Lay a claim beside what the hardware can do at most."),
    "model": ("auditor.cli.model:model", "Show what a model holds and reads: bytes, number formats, MTP."),
    "hardware": ("auditor.cli.hardware:hardware", "Show the GPUs of a server: card, clocks, power, PCIe link."),
    "log": ("auditor.cli.log:log", "Print the timestamped token log of a run."),
    "log-read": ("auditor.cli.logread:log_read", "Read the log of a server: what it printed and whether it agrees."),
    "import": ("auditor.cli.importing:import_result", "Read a result file of a benchmark tool: what it proves."),
    "inspect": ("auditor.cli.inspecting:inspect", "Say what does not fit in a log or a result file."),
    "fork": ("auditor.cli.fork:fork", "Review what a fork changes: kernels, gates, counting, acceptance."),
    "review": ("auditor.cli.reviewing:review", "Review a claim by the files, logs and forks that others publish."),
    "doctor": ("auditor.cli.doctor:doctor", "Look for known traps in a server and its log."),
    "list": ("auditor.cli.judge:list_runs", "List the runs and their verdicts."),
    "compare": ("auditor.cli.compare:compare", "Compare servers or forks: the difference and its interval."),
    "bundle": ("auditor.cli.bundle:bundle", "Put a run into one file that anyone can verify, signed or not."),
    "verify": ("auditor.cli.verify:verify", "Verify a bundle or a run folder, and judge it again."),
    "challenge": ("auditor.cli.challenge:challenge", "Ask a claimant for a run that could not be made before."),
    "answer": ("auditor.cli.answer:answer", "Answer a challenge: run what it asks, beside your own server."),
    "publish": ("auditor.cli.publish:publish", "Write a static site of all audits."),
    "amend": ("auditor.cli.amend:amend", "Add a reply, a correction or a withdrawal to a verdict."),
    "claims": ("auditor.cli.claims:claims", "Check, show and store claim files."),
    "init": ("auditor.cli.init:init", "Draft a claim file from a post or a few questions."),
    "servers": ("auditor.cli.servers:servers", "List the kinds of server that are known, and what each tells."),
    "local": ("auditor.cli.local:local", "Start, stop and look at the embedded server."),
    "db": ("auditor.cli.db:db", "Create, upgrade, export and import the database."),
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and what is left; a slip of the pen is told with the nearest name."""
        near = [] if args[0] in COMMANDS else get_close_matches(args[0], COMMANDS, n=1)
        if near:
            ctx.fail(f"No such command {args[0]!r}; did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

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


def main(argv: list[str] | None = None) -> NoReturn:
    """Entry point of the `audit` script: turns every error into one line and its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    with suppress(ValueError):  # not in the main thread, as in tests
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    try:
        code = root.main(args=arguments, prog_name="audit", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return _end(AuditError(error.format_message()), arguments, Exit.USAGE, is_said=True)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _end(AuditError("interrupted"), arguments, Exit.INTERRUPTED)
    except AuditError as error:
        return _end(error, arguments, error.exit_code)
    except BrokenPipeError:
        # Whoever read the output wanted no more of it; nothing may complain about that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _end(_unexpected(error), arguments, Exit.FAILED)
    return code if isinstance(code, int) else Exit.OK


def _end(error: AuditError, arguments: list[str], code: Exit, *, is_said: bool = False) -> int:
    """Say an error, and as a document with `--json`; its exit code."""
    from auditor.cli.output import report_error

    report_error(error, code, as_json="--json" in arguments, is_said=is_said)
    return code


def _unexpected(error: Exception) -> AuditError:
    """An exception that nobody foresaw, in one line; the whole of it with `AUDIT_DEBUG=1`."""
    if os.environ.get("AUDIT_DEBUG") == "1":
        traceback.print_exception(error)
    kept = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    words = " ".join(str(error).split())[:300]
    if isinstance(error, OSError) and error.strerror:
        where = str(error.filename) if error.filename else None
        return AuditError(f"{error.strerror}{kept}", where=where, remedy="AUDIT_DEBUG=1 shows where")
    if isinstance(error, MemoryError):
        return AuditError(f"out of memory{kept}")
    what = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return AuditError(f"{what}{kept}", remedy="this is a bug: please report it with what AUDIT_DEBUG=1 shows")
