"""The embedded server's own process: `python -m auditor.capture.local_server JSON`.

Loads a GGUF with llama.cpp (the wheel `xllamacpp`) and serves it until SIGTERM, or until its standard input closes
when `attached`: the parent holds the other end, so that the server dies with it however it dies. Everything that
llama.cpp prints goes to standard error; standard output carries one line, the address, once the model is loaded.
"""

import json
import os
import signal
import sys
import threading
from typing import Any

SHUTDOWN_GRACE_S = 1.0
"""How long requests in flight may hold up the end of the process."""


def main(argv: list[str]) -> int:
    """Serve as the JSON object in `argv[0]` says; the keys are the ones `parameters` reads, and `attached`."""
    settings = json.loads(argv[0])
    ready_fd = os.dup(1)
    os.dup2(2, 1)

    import xllamacpp

    try:
        server = xllamacpp.Server(parameters(xllamacpp, settings))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    stop = threading.Event()
    # Not earlier: while the model loads, the default action of SIGTERM is the one that works.
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    if settings["attached"]:
        threading.Thread(target=_wait_for_parent, args=(stop,), daemon=True).start()
    os.write(ready_fd, server.listening_address.encode() + b"\n")
    os.close(ready_fd)
    stop.wait()
    _exit_after(SHUTDOWN_GRACE_S)
    del server
    return 0


def parameters(xllamacpp: Any, settings: dict[str, Any]) -> Any:
    """The `CommonParams` of llama.cpp.

    `context` is per stream. One batch holds the prompts of all streams, so that each prompt is one target decode.
    """
    context = settings["context"] * settings["parallel"]
    params = xllamacpp.CommonParams()
    params.model.path = settings["gguf"]
    params.model_alias = {settings["model"]}
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]
    params.n_ctx = context
    params.n_batch = context
    params.n_parallel = settings["parallel"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    # Some builds of the wheel could use a graphics processor; the rehearsal says that it does not.
    params.n_gpu_layers = 0
    params.speculative.draft.n_gpu_layers = 0
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.ui = False
    # Finished prompts kept in memory would answer a repeated prompt without work.
    params.cache_ram_mib = 0
    _speculate(xllamacpp, params.speculative, settings)
    return params


def _speculate(xllamacpp: Any, speculative: Any, settings: dict[str, Any]) -> None:
    kinds = xllamacpp.common_speculative_type
    if settings["speculation"] == "draft":
        speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        speculative.draft.mparams.path = settings["draft"]
        speculative.draft.n_max = settings["draft_tokens"]
        speculative.draft.cpuparams.n_threads = settings["threads"]
        speculative.draft.cpuparams_batch.n_threads = settings["threads"]
    elif settings["speculation"] == "ngram":
        speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
        speculative.ngram_simple.size_n = settings["ngram_size"]
        speculative.ngram_simple.size_m = settings["draft_tokens"]
    if settings["synthetic_length"] is not None:
        speculative.synth_len = settings["synthetic_length"]


def _wait_for_parent(stop: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    stop.set()


def _exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
