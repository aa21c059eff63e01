"""Reading the files of a checkpoint from disk: configurations, an index, and the heads of its weight files."""

from pathlib import Path

from auditor.core.checkpoint.config import Config, architecture_of, parse_json
from auditor.core.checkpoint.gguf import TornError, architecture_of_gguf, parse_gguf
from auditor.core.checkpoint.layout import Contents
from auditor.core.checkpoint.quant import declared_in
from auditor.core.checkpoint.summary import Summary, summarise
from auditor.core.checkpoint.tensors import Tensor, parse_header, parse_index
from auditor.errors import UsageError

MAX_CONFIG = 20_000_000
"""Bytes of a configuration or an index that are read at most."""
MAX_HEADER = 100_000_000
"""Bytes of a safetensors header, as the format allows at most."""
GGUF_STEPS = (1 << 22, 1 << 26, 1 << 28)
"""Bytes of a GGUF file that are read until its head is whole."""
_CONFIG, _QUANT, _INDEX = "config.json", "hf_quant_config.json", "model.safetensors.index.json"


def read_checkpoint(path: Path) -> Summary:
    """What a folder with `config.json`, or a GGUF file, holds; raises UsageError in one line."""
    if path.is_dir():
        return summarise(_folder(path))
    if path.suffix == ".gguf" or _starts_with_gguf(path):
        return summarise(_gguf(path))
    raise UsageError("neither a folder nor a GGUF file", where=str(path), remedy="give the folder with config.json")


def _folder(folder: Path) -> Contents:
    if not (folder / _CONFIG).is_file():
        remedy = "give the folder of one checkpoint, or one .gguf file"
        raise UsageError(f"has no {_CONFIG}", where=str(folder), remedy=remedy)
    config: Config = parse_json(_read(folder / _CONFIG, MAX_CONFIG), str(folder / _CONFIG))
    files = [_CONFIG]
    quant = None
    if (folder / _QUANT).is_file():
        quant = parse_json(_read(folder / _QUANT, MAX_CONFIG), str(folder / _QUANT))
        files.append(_QUANT)
    tensors, weight_files = _tensors(folder)
    return Contents(
        name=folder.resolve().name,
        architecture=architecture_of(config, str(folder / _CONFIG)),
        files=(*files, *weight_files),
        config=config,
        declared=declared_in(config, quant),
        tensors=tensors,
    )


def _tensors(folder: Path) -> tuple[tuple[Tensor, ...], tuple[str, ...]]:
    """The tensors of all weight files; of the index alone where a file that it names is missing."""
    present = sorted(folder.glob("*.safetensors"))
    index = folder / _INDEX
    if index.is_file():
        names, files = parse_index(_read(index, MAX_HEADER), str(index))
        if not files <= {path.name for path in present}:
            return names, (_INDEX,)
        present = [path for path in present if path.name in files]
    found: list[Tensor] = []
    for path in present:
        found += parse_header(_header(path), str(path))
    shown = tuple(path.name for path in present)
    return tuple(found), shown if len(shown) < 3 else (f"headers of {len(shown)} safetensors files",)


def _header(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 2 <= size <= MAX_HEADER:
                raise UsageError("not a safetensors file", where=str(path))
            data = file.read(size)
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path)) from None
    if len(data) < size:
        raise UsageError("ends within its header", where=str(path), remedy="download the file again")
    return data


def _gguf(path: Path) -> Contents:
    for size in GGUF_STEPS:
        data = _read(path, size, cut=True)
        try:
            head = parse_gguf(data, str(path))
        except TornError:
            if len(data) < size:
                break
            continue
        name = head.metadata.get("general.name")
        return Contents(
            name=path.name,
            architecture=architecture_of_gguf(head, str(path)),
            files=(path.name,),
            config={"model_type": head.metadata.get("general.architecture"), "name": name},
            declared=None,
            tensors=head.tensors,
        )
    raise UsageError("ends within its head", where=str(path), remedy="download the file again")


def _starts_with_gguf(path: Path) -> bool:
    return path.is_file() and _read(path, 4, cut=True) == b"GGUF"


def _read(path: Path, limit: int, *, cut: bool = False) -> bytes:
    """The bytes of a file, up to the limit; raises UsageError where it is larger, unless it may be cut."""
    try:
        with path.open("rb") as file:
            data = file.read(limit if cut else limit + 1)
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path)) from None
    if not cut and len(data) > limit:
        raise UsageError(f"larger than {limit:,} bytes", where=str(path))
    return data
