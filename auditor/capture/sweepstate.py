"""The state of sweeps on disk: begun, gone on with, and what a killed one left running."""

import os
from pathlib import Path

from pydantic import ValidationError

from auditor.capture import launch as door
from auditor.core.folder import write
from auditor.core.sweeping.matrix import Matrix
from auditor.core.sweeping.result import State
from auditor.errors import AuditError, EvidenceError, UsageError

STATE, SWEEP = "state.json", "sweep.json"


def save(folder: Path, state: State) -> None:
    """Write the state, whole or not at all; raises AuditError."""
    write(folder, STATE, state.to_json())


def read(folder: Path) -> State:
    """The state of a sweep; raises EvidenceError."""
    path = folder / STATE
    try:
        return State.from_json(path.read_bytes())
    except (OSError, ValidationError):
        raise EvidenceError("is no state of a sweep, or is damaged", where=str(path), remedy="move it away") from None


def unfinished(reports: Path, matrix: str, base: Path) -> tuple[Path, State] | None:
    """The newest sweep of a matrix that has rows left, after what killed ones left running was stopped.

    `base` is the matrix file's folder. Raises UsageError while another process works on one.
    """
    newest = None
    for path in sorted((reports / matrix).glob(f"sweep-*/{STATE}")):
        state = read(path.parent)
        if not state.left:
            continue
        if state.owner_pid != os.getpid() and door.is_same(state.owner_pid, state.owner_started_ns):
            what = f"another audit sweep works on it (process {state.owner_pid})"
            raise UsageError(what, where=str(path.parent), remedy="wait for it, or end it")
        if state.running is not None:
            door.stop(state.running, cwd=base)
            state = state.model_copy(update={"running": None})
            save(path.parent, state)
        newest = path.parent, state
    return newest


def begun(reports: Path, matrix: Matrix, digest: str, *, sweep: str, seed: int) -> tuple[Path, State]:
    """A new sweep and its folder; raises UsageError where that cannot be made."""
    folder = reports / matrix.id / sweep
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        what = f"the folder of the sweep cannot be made ({error.strerror})"
        raise UsageError(what, where=str(folder), remedy="choose another with --reports") from None
    state = State(
        sweep=sweep,
        matrix=matrix.id,
        matrix_title=matrix.title,
        matrix_digest=digest,
        order=tuple(row.id for row in matrix.rows),
        seed=seed,
        **_owner(),
    )
    return folder, state


def taken_up(folder: Path, state: State, digest: str) -> State:
    """The state of an earlier sweep, worked on by this process now; raises UsageError where its matrix changed."""
    if state.matrix_digest != digest:
        what = f"the matrix or its claim changed since this sweep began; {len(state.rows)} of its rows are measured"
        raise UsageError(what, where=str(folder), remedy="give --fresh to begin anew, or put the old matrix back")
    return state.model_copy(update=_owner())


def _owner() -> dict[str, int]:
    started_ns = door.begun_ns(os.getpid())
    if started_ns is None:
        raise AuditError("the time at which this process began cannot be read")
    return {"owner_pid": os.getpid(), "owner_started_ns": started_ns}
