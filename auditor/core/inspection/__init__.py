"""What does not fit in a log or a result file: its times, its counts, its text. Pure.

Nothing here says that a file was forged; a check says what cannot be so together, or what no honest recording showed.
The checks that every import gets are in `auditor.core.imports.checks`, and are taken over, not made again.
"""
