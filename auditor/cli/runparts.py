"""The parts of `audit run` beside the replay itself: the options that ask for them or leave them out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from auditor.cli.hardware import hardware_options, read_hardware
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.capture.telemetry import Sampler
    from auditor.core.hardware import HostHardware
    from auditor.core.judging.notlooked import Part

F = TypeVar("F", bound=Callable[..., Any])

_SWITCHES: "tuple[Part, ...]" = ("telemetry", "server log", "traps", "recount", "counters", "canaries")
"""Parts that are looked at unless `--no-...` is given."""


def parts_options(command: F) -> F:
    """Adds the options of the parts to a command."""
    options = (
        click.option("--tokenizer", help="The model's tokenizer: a folder, a tokenizer.json, or a name on the hub."),
        click.option("--recount/--no-recount", default=True, help="Tokenise the delivered text again after the run."),
        click.option(
            "--other-tokenizer", help="Another one, to see whether a number was counted with it, as o200k_base."
        ),
        click.option("--counters/--no-counters", default=True, help="Read the server's counters around each round."),
        click.option("--server-log", metavar="FILE", help="The server's own log: a second timeline; - after the run."),
        click.option("--no-server-log", is_flag=True, help="Not even that of the embedded server."),
        click.option("--traps/--no-traps", default=True, help="Look for known traps in the server's facts and log."),
        click.option("--check-text", is_flag=True, help="Compare greedy texts with those without speculation."),
        click.option("--canaries/--no-canaries", default=True, help="Ask what has a known answer before and after."),
        hardware_options,
        click.option("--nvml", is_flag=True, help="GPUs of the server, on this machine: NVML or nvidia-smi."),
        click.option(
            "--telemetry/--no-telemetry", default=True, help="With --nvml or --ssh: sample the GPUs during the run."
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def without(options: dict[str, Any]) -> "frozenset[Part]":
    """The parts that are switched off; raises UsageError where one is asked for as well."""
    off: frozenset[Part] = frozenset(
        part for part in _SWITCHES if (options["no_server_log"] if part == "server log" else not options[part])
    )
    for part, option in (("server log", "server_log"), ("recount", "tokenizer")):
        if part in off and options[option]:
            name = part.replace(" ", "-")
            raise UsageError(f"--{option.replace('_', '-')} and --no-{name} are given", remedy="give one of the two")
    return off


def left_out(options: dict[str, Any], *, is_embedded: bool, has_plain: bool) -> "dict[Part, str]":
    """The parts that this command does not look at, and by which word of it."""
    found: dict[Part, str] = {}
    if not any(options[name] for name in ("nvml", "ssh", "gpu_xml", "exporter")):
        found["hardware"] = "none of --nvml, --ssh, --gpu-xml and --exporter was given"
    if not (options["nvml"] or options["ssh"]):
        found["telemetry"] = "neither --nvml nor --ssh was given"
    if not options["server_log"] and not is_embedded:
        found["server log"] = "no --server-log was given"
    if not options["tokenizer"]:
        found["recount"] = "no --tokenizer was given"
    if not options["check_text"]:
        found["text"] = "no --check-text was given"
    if not has_plain:
        found["plain server"] = "no --pair was given"
    for part in without(options):
        found[part] = f"--no-{part.replace(' ', '-')} was given"
    return found


def hardware_of(options: dict[str, Any], claimed: str | None) -> "HostHardware | None":
    """The GPUs of the server, where a source of them was given."""
    is_asked = any(options[name] for name in ("gpu_xml", "ssh", "exporter", "nvml"))
    if is_asked and not options["server"] and not claimed:
        raise UsageError("hardware facts belong to a server", remedy="give --server, or leave them out")
    found: HostHardware | None = read_hardware(options)
    return found


def sampler_of(options: dict[str, Any]) -> "Sampler | None":
    """What samples the GPUs during the run, where they can be sampled."""
    if not options["telemetry"] or not (options["nvml"] or options["ssh"]):
        return None
    from auditor.capture.hardware import ssh_words
    from auditor.capture.telemetry import Sampler

    return Sampler(ssh_words(options["ssh"]) if options["ssh"] else ())
