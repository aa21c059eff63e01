"""`audit hardware`: the GPUs of a server, as a tool on its machine tells them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

_EPILOG = """\b
Examples:
  audit hardware
  audit hardware --ssh gpu-box
  audit hardware --gpu-xml nvidia-smi.xml
  audit hardware --exporter http://gpu-box:9400

\b
Exit codes:
  0  done
  1  the tool failed
  2  usage: a file that is no nvidia-smi output, a host or address that is none
  5  the machine or exporter cannot be reached, or has no nvidia-smi"""


F = TypeVar("F", bound=Callable[..., Any])


def hardware_options(command: F) -> F:
    """Adds the sources of hardware facts to a command: `gpu_xml`, `ssh`, `exporter`."""
    command = click.option("--exporter", metavar="URL", help="GPUs: a DCGM exporter or nvidia_gpu_exporter.")(command)
    command = click.option("--ssh", metavar="HOST", help="GPUs: ask nvidia-smi of this host over ssh.")(command)
    return click.option("--gpu-xml", metavar="FILE", help="GPUs: a saved `nvidia-smi -q -x`, or its query as CSV.")(
        command
    )


@click.command(epilog=_EPILOG)
@hardware_options
@json_option
def hardware(gpu_xml: str | None, ssh: str | None, exporter: str | None, as_json: bool) -> None:
    """Show the GPUs of a server: card, architecture, clocks, power, PCIe link, and what is unusual about them.

    Without an option the GPUs of this machine are shown. Every value names its source, and every absence its reason; no
    serial number, UUID or host name is kept.
    """
    from auditor.core.hardware.judged import sentences, state_findings

    output = Output(as_json)
    found = read_hardware(
        {"gpu_xml": gpu_xml, "ssh": ssh, "exporter": exporter, "nvml": not (gpu_xml or ssh or exporter)}
    )
    assert found is not None
    output.say(_text(found))
    findings = state_findings(found)
    for sentence in sentences(findings):
        output.say(f"note: {sentence}")
    document = {
        "hardware": found.model_dump(mode="json"),
        "findings": [one.model_dump(mode="json") for one in findings],
    }
    output.document(document)


def read_hardware(options: dict[str, Any]) -> Any:
    """The record from the one of `gpu_xml`, `ssh`, `exporter`, `nvml` that is given; None where none is."""
    from auditor.capture import hardware as doors

    given = [name for name in ("gpu_xml", "ssh", "exporter", "nvml") if options.get(name)]
    if not given:
        return None
    if len(given) > 1:
        spelled = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{spelled} are given", remedy="give one source of hardware facts")
    if options.get("gpu_xml"):
        return doors.read_file(Path(options["gpu_xml"]))
    if options.get("ssh"):
        return doors.read_ssh(options["ssh"])
    if options.get("exporter"):
        return doors.read_exporter(options["exporter"])
    return doors.read_own()


def _text(found: Any) -> str:
    lines = [f"Source: {found.source}"]
    for title, fact in (("Driver", found.driver), ("CUDA", found.cuda), ("WSL2", found.wsl), ("P2P", found.p2p)):
        lines.append(_line(title, fact))
    for gpu in found.gpus:
        lines.append(f"GPU {gpu.index}: {gpu.text('product') or 'unnamed'}")
        lines += [_line(name.replace("_", " "), fact) for name, fact in gpu.facts.items() if name != "product"]
    return "\n".join(lines)


def _line(title: str, fact: Any) -> str:
    if fact.value is None:
        return f"  {title:<22} -  ({fact.reason})"
    value = {True: "yes", False: "no"}[fact.value] if isinstance(fact.value, bool) else fact.value
    return f"  {title:<22} {value}  ({fact.source})"
