"""The conductor of a sweep: starts the server of each row, audits it, stops it, and notes how far it got.

Time, ids and seeds are passed in. A row that fails is a result; only an interruption, and what stands against every
row, ends a sweep, and the next one of the same matrix goes on where it ended.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from urllib.parse import urlsplit

from auditor import audit
from auditor.capture import launch as door
from auditor.capture.launch import LaunchError
from auditor.capture.local import LocalServer, LocalSettings, local_settings
from auditor.capture.measure import INTERRUPTED, Watch
from auditor.capture.striking import Striker
from auditor.capture.sweepstate import SWEEP, save
from auditor.core.claim.claim import Case
from auditor.core.folder import RunFolder, write
from auditor.core.sweeping.ladder import knee_of, rungs_of
from auditor.core.sweeping.matrix import Embedded, Recipe
from auditor.core.sweeping.result import RowResult, Started, State, Sweep, failed_row, judged_row, sweep_of
from auditor.core.sweeping.words import log_name, markdown, telling_lines
from auditor.errors import AuditError, InterruptedRunError, UsageError
from auditor.job import Job, ServerChoice
from auditor.report.sweeppage import sweep_page
from auditor.sweepjob import Begun, Order, job_of

GONE_S = 1.0
"""Seconds in which a process whose connections broke is seen to have ended."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What a sweep calls while it goes on."""

    begin: Callable[[], Begun]
    say: Callable[[str], None]
    keep: Callable[[audit.Result], None]
    """Called with every judged run."""
    watch: Watch | None = None


def run(order: Order, folder: Path, state: State, calls: Calls) -> Sweep:
    """Measure the rows that have no result yet; raises AuditError where it was interrupted or cannot go on.

    A variable that a row needs is looked for before: see `Order.secrets`.
    """
    save(folder, state)
    secrets = [secret for recipe in order.recipes for secret in order.secrets(recipe)]
    for log in folder.glob("logs/*.log"):  # of a row during which the tool was killed
        _strike(log, secrets)
    for recipe in order.recipes:
        if recipe.row not in state.left:
            continue
        attempts = {**state.attempts, recipe.row: state.attempts.get(recipe.row, 0) + 1}
        state = state.model_copy(update={"attempts": attempts})
        calls.say(f"row {recipe.row}: {state.order.index(recipe.row) + 1} of {len(state.order)}")
        one = _Row(order, recipe, folder, state, calls).measured()
        state = state.model_copy(update={"rows": (*state.rows, one), "running": None})
        _write(folder, state)
        save(folder, state)
        words = one.sentence if one.outcome == "judged" else f"{one.said}: {one.sentence}"
        calls.say(f"row {recipe.row}: {words}")
    return sweep_of(state)


def _write(folder: Path, state: State) -> None:
    """The table so far, as JSON, Markdown and a page."""
    sweep = sweep_of(state)
    write(folder, SWEEP, sweep.to_json())
    write(folder, "sweep.md", markdown(sweep).encode())
    write(folder, "sweep.html", sweep_page(sweep).encode())


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that runs."""

    process: "subprocess.Popen[bytes]"
    url: str
    local: LocalServer | None


class _Row:
    """One row while it is measured."""

    def __init__(self, order: Order, recipe: Recipe, folder: Path, state: State, calls: Calls) -> None:
        self._order, self._recipe, self._folder, self._state, self._calls = order, recipe, folder, state, calls
        self._case: Case = order.claim.case(recipe.case)
        self._log = log_name(recipe.row, state.attempts[recipe.row])
        self._path = folder / self._log
        self._secrets = order.secrets(recipe)
        self._ready_ns: int | None = None

    def measured(self) -> RowResult:
        """The row's result; raises InterruptedRunError."""
        try:
            with self._running() as server:
                return self._audited(server)
        except LaunchError as error:
            return self._failed(error)
        finally:
            _strike(self._path, self._secrets)

    @contextmanager
    def _running(self) -> Iterator[_Server]:
        """The row's server, started and ready; none of its processes outlives the block."""
        recipe, launch = self._recipe, self._recipe.launch
        url = recipe.server.url or f"http://127.0.0.1:{door.free_port()}"
        door.refuse_taken(url)
        command, settings = self._command(url)
        begun = self._calls.begin()
        started = Started(row=recipe.row, mark=f"{self._state.sweep}/{recipe.row}/{begun.id}", stop=launch.stop)
        # Noted before it runs, so that a tool that is killed meanwhile leaves nothing that cannot be found.
        self._note(started)
        process, began_ns = None, perf_counter_ns()
        try:
            process = door.start(command, started.mark)
            started = started.model_copy(update={"pid": process.pid, "started_ns": door.begun_ns(process.pid)})
            self._note(started)
            key = recipe.server.key_from
            headers = {"authorization": f"Bearer {self._order.environment[key]}"} if key else {}
            door.wait_ready(process, url, launch.ready, headers)
            self._ready_ns = perf_counter_ns() - began_ns
            self._calls.say(f"row {recipe.row}: ready at {url} after {self._ready_ns / 1e9:.1f} s")
            local = LocalServer(url, process.pid, settings, self._path, process) if settings else None
            yield _Server(process, url, local)
        finally:
            door.stop(started, is_own=True, env=command.env, cwd=command.cwd)
            if process is not None:
                process.wait()
            save(self._folder, self._state)

    def _note(self, started: Started) -> None:
        save(self._folder, self._state.model_copy(update={"running": started}))

    def _command(self, url: str) -> tuple[door.Command, LocalSettings | None]:
        order, launch = self._order, self._recipe.launch
        port = str(urlsplit(url).port or "")
        own = {name: value for name, value in order.environment.items() if not name.startswith("AUDIT_")}
        env = {**own, **{name: value.replace("{port}", port) for name, value in launch.env.items()}}
        cwd = order.base / (launch.cwd or "")
        settings = None if launch.embedded is None else _settings(launch.embedded, order.base, int(port))
        if settings is None:
            argv = tuple(word.replace("{port}", port) for word in launch.argv)
        else:
            argv = (sys.executable, "-m", "auditor.capture.local_server", settings.child_json(attached=False))
        return door.Command(argv, env, cwd, self._path), settings

    def _audited(self, server: _Server) -> RowResult:
        job = self._job(server)
        try:
            result = audit.run(job, self._calls.watch)
        except InterruptedRunError:
            raise
        except AuditError as error:
            if (ended := _ended(server.process)) is None:
                raise LaunchError("not-measured", str(error)) from None
            raise LaunchError("crashed", f"its process {ended} while it was measured: {error}") from None
        self._calls.keep(result)
        if result.stopped == INTERRUPTED:
            remedy = "the same command goes on with this row"
            raise InterruptedRunError("interrupted", where=f"row {self._recipe.row}", remedy=remedy)
        return self._judged(result, _ended(server.process) if result.stopped else _code(server.process))

    def _judged(self, result: audit.Result, ended: str | None) -> RowResult:
        assert self._ready_ns is not None
        rungs = rungs_of(RunFolder(result.folder).plan(), result.account.ledger)
        one = judged_row(
            self._recipe,
            self._case,
            result.verdict,
            rungs,
            knee_of(rungs) if self._recipe.load.ladder else None,
            run=result.folder.relative_to(self._order.reports).as_posix(),
            log=self._log,
            ready_ns=self._ready_ns,
        )
        if ended is None:
            return one
        words = f"its process {ended} while it was measured; of what came until then: {one.sentence}"
        return one.model_copy(update={"outcome": "crashed", "sentence": words, "log_lines": self._telling()})

    def _failed(self, error: LaunchError) -> RowResult:
        words = Striker(self._secrets).in_text(str(error))
        has_log = error.outcome != "port-taken" and self._path.exists()
        lines = self._telling() if has_log else ()
        return failed_row(self._recipe, self._case, error.outcome, words, self._log, lines, self._ready_ns)

    def _telling(self) -> tuple[str, ...]:
        data = Striker(self._secrets).in_bytes(b"\n".join(door.log_pieces(self._path)))
        return telling_lines(data.decode("utf-8", "replace"))

    def _job(self, server: _Server) -> Job:
        return job_of(
            self._order,
            self._recipe,
            ServerChoice("subject", server.url, server.local),
            self._calls.begin(),
            seed=self._state.seed,
            log=self._path,
            secrets=self._secrets,
        )


def _strike(log: Path, secrets: Sequence[str]) -> None:
    """Take the secrets out of a whole log, which stays in the folder of the sweep."""
    striker = Striker(secrets)
    if not striker.has_secrets or not log.exists():
        return
    part = log.with_suffix(".part")
    part.touch(mode=0o600)
    with log.open("rb") as whole, part.open("wb") as struck:
        struck.writelines(striker.in_bytes(line) for line in whole)
    os.replace(part, log)


def _settings(embedded: Embedded, base: Path, port: int) -> LocalSettings:
    """The embedded server's settings; raises LaunchError for what cannot be served."""
    paths = {name: base / value if (value := getattr(embedded, name)) else None for name in ("gguf", "draft_gguf")}
    try:
        return local_settings(
            speculation=embedded.speculation,
            gguf=paths["gguf"],
            draft=paths["draft_gguf"],
            draft_tokens=embedded.draft_tokens,
            context=embedded.context,
            parallel=embedded.parallel,
            threads=embedded.threads,
            port=port,
        )
    except UsageError as error:
        raise LaunchError("failed-to-start", str(error)) from None


def _code(process: "subprocess.Popen[bytes]") -> str | None:
    code = process.poll()
    return None if code is None else door.exit_words(code)


def _ended(process: "subprocess.Popen[bytes]") -> str | None:
    """How the process ended, after a moment in which it may; None where it runs."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(GONE_S)
    return _code(process)
