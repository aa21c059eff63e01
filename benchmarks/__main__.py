"""`python -m benchmarks`: the table of ratios."""

import json
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmarks.cases import CASES, PEER, Bench, Row
from benchmarks.machine import build
from benchmarks.peers import PEERS, peer_rows


@click.command(context_settings={"show_default": True})
@click.option("--programs", type=click.Path(path_type=Path), help="Folder of the compiled C programs; made by default.")
@click.option("--tools", type=click.Path(path_type=Path), help="Folder with a venv of each peer: aiperf, guidellm, ...")
@click.option("--tokenizer", help="For the peers: name in the cache of the hub (HF_HOME); aiperf takes no folder.")
@click.option("--server-core", type=int, default=0, help="Core of the server.")
@click.option("--client-core", type=int, default=1, help="Core of the clients.")
@click.option("--case", "cases", multiple=True, type=click.Choice([*CASES, "peers"]), help="Only these; else all.")
@click.option("--times", type=int, default=1, help="How often the whole is repeated.")
@click.option("--tries", type=int, default=4, help="How often a run is made that other programs disturbed.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows as JSON as well.")
def main(programs: Path | None, tools: Path | None, cases: tuple[str, ...], times: int, **options: Any) -> None:
    """Run ours, the reader in C and the peers on one synthetic server, and print the ratios."""
    with tempfile.TemporaryDirectory(prefix="audit-bench-") as name:
        scratch = Path(name)
        if programs is None:
            programs = scratch
            build(programs)
        dropped: list[str] = []
        bench = Bench(programs, options["server_core"], options["client_core"], scratch, options["tries"], dropped)
        found: list[dict[str, Any]] = []
        for turn in range(times):
            if times > 1:
                click.echo(f"\nRun {turn + 1} of {times}")
            click.echo(_line(_HEADS))
            for case in cases or [*CASES, "peers"]:
                rows = peer_rows(bench, tools, options["tokenizer"], PEER) if case == "peers" else CASES[case](bench)
                for row in rows:
                    click.echo(_line(_cells(row)))
                    found.append({"turn": turn, "case": case, **asdict(row)})
        for line in dropped:
            click.echo(f"repeated: {line}")
        click.echo(
            f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
        )
        if options["out"]:
            document = {"rows": found, "repeated": dropped, "peers": sorted(PEERS)}
            options["out"].write_text(json.dumps(document, indent=1))


_HEADS = ("what", "ours", "C reader or truth", "ratio", "wanted", "", "others")


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    mark = {True: "holds", False: "FAILS", None: ""}[row.holds]
    return (row.what, row.ours, row.reader, ratio, row.wanted, mark, f"{row.noisy:.2f}")


def _line(cells: tuple[str, ...]) -> str:
    widths = (42, 14, 18, 7, 14, 6, 6)
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


if __name__ == "__main__":
    main()
