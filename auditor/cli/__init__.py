"""The command line: parse, call, print, exit; nothing else.

Commands live in one module per group and are imported only when they are called, so that `audit --help` is quick.
"""

from auditor.cli.root import main

__all__ = ["main"]
