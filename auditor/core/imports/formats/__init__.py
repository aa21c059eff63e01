"""Every format that is known, in the order in which a file is tried: the narrow ones first."""

from auditor.core.imports.format import Format
from auditor.core.imports.formats import vllm

FORMATS: tuple[Format, ...] = (vllm.FORMAT,)
"""One line a format; a file is of the first that recognises it."""
