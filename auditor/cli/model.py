"""`audit model`: what a checkpoint, or a model of the reference table, holds and reads."""

from pathlib import Path
from typing import Any

import click

from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

_EPILOG = """\b
Examples:
  audit model ./Qwen3.5-397B-A17B-NVFP4
  audit model ./model-Q4_K_M.gguf
  audit model qwen3.5-397b-a17b

\b
Exit codes:
  0  done
  1  the tool failed
  2  usage: no such folder, file or model, or one that cannot be read"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="PATH|ID")
@json_option
def model(name: str, as_json: bool) -> None:
    """Show what a model holds: architecture, parameters, bytes per token by part, KV cache, MTP head, number formats.

    PATH is a folder with config.json, with hf_quant_config.json and a safetensors index or the files themselves if they
    are there, or a GGUF file; weights are not read. ID is a model of the reference table, shown with its sources.
    """
    from auditor.cli.modeltext import checkpoint_text, reference_text

    output = Output(as_json)
    path = Path(name)
    if path.exists():
        from auditor.review.checkpoint import read_checkpoint

        view = read_checkpoint(path).view
        output.say(checkpoint_text(view))
        output.document({"checkpoint": view.model_dump(mode="json")})
        return
    row = _row(name)
    output.say(reference_text(row))
    output.document({"reference": _document(row)})


def _row(name: str) -> Any:
    from auditor.reference.models import all_models, find_model, suggest_models

    row = find_model(name)
    if row is not None:
        return row
    near = suggest_models(name) or tuple(model.id for model in all_models())
    raise UsageError(
        "neither a file, a folder nor a model of the table", where=name, remedy=f"known: {', '.join(near)}"
    )


def _document(row: Any) -> dict[str, Any]:
    from auditor.cli.modeltext import layouts_of

    return {
        **row.model_dump(mode="json"),
        "layouts": [
            {"id": one.id, "title": one.title, "token_bytes": one.token_bytes(), "stored_bytes": one.stored_bytes(),
             "draft_step_bytes": one.draft_bytes(one.top_k) or None, "source": one.source}
            for one in layouts_of(row)
        ],
    }  # fmt: skip
