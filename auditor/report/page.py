"""The report of a run folder as one HTML file."""

from pathlib import Path


def write_report(path: Path) -> None:
    """Write `report.html` into a judged run folder."""
    (path / "report.html").write_text("<!doctype html><title>report</title>")
