"""Running steps: for a command, a study or Python, here or on workers, whoever else works on the same store.

Steps are made as soon as what they need is stored. One that fails ends the run, or takes only those along that need
it. One that another process is making is passed over as long as there is anything else to do: any number of processes
can be started on one store, and share the work. The runner loads no torch: where everything is stored, nothing does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from bertscope.core.errors import BugError, FullDiskError, UserError
from bertscope.core.harmless import harmless, one_line
from bertscope.core.inputs import Inputs
from bertscope.core.result import describe
from bertscope.core.step import Root, Step, graph
from bertscope.core.store import Store
from bertscope.study.board import Board, RunOutcome
from bertscope.study.execute import Outcome, make
from bertscope.study.growing_report import GrowingReport
from bertscope.study.shared_passes import Job, jobs
from bertscope.study.step_states import forget_failures, keep_failure
from bertscope.study.watch import tell_stored, watch

POLL = 0.5
"""Seconds until a step that another process is making is looked at again."""


class Executor(Protocol):
    """Who makes the steps."""

    @property
    def slots(self) -> int:
        """How many jobs at a time."""

    def start(self, job: Job) -> None:
        """Begin with a job."""

    def collect(self, seconds: float) -> list[Outcome]:
        """What was made since; waits that long if there is nothing."""


def run_steps(
    steps: Sequence[Step],
    store: Store | str | Path,
    *,
    keep_going: bool = False,
    workers: int = 0,
    cluster: str | None = None,
    cluster_keys: str | Path | None = None,
    resume: bool = True,
    page: Callable[[], None] | None = None,
    inputs: Inputs | None = None,
) -> RunOutcome:
    """Make these steps and everything they need, unless it is stored. The data that they read is looked at first.

    The first step that fails raises: `UserError` for a mistake you can mend, `BugError` for any other reason.

    keep_going   go on with what doesn't need the step that failed: see `failed`, `skipped` and `exit_code` of what
                 comes back
    workers      how many processes of this machine to use, with one thread each; 0 is this process itself
    cluster      the address of a running Dask scheduler, whose workers see the same store
    cluster_keys the folder of the keys for its tls:// address: ca.pem, cert.pem, key.pem
    resume       whether what was left unfinished is taken up; otherwise it starts over
    page         called as results come in, early, seldom, and when something was made at the end
    inputs       what this process has open already of what the steps read: their data was looked at
    """
    store = store if isinstance(store, Store) else Store(store)
    needed = _sound_graph(steps, store)
    board = Board(needed, [at for at, step in needed.items() if store.has(step)])
    if workers < 0 or (workers and cluster):
        raise UserError(f"workers is {workers}; give 0 or more, and none where a cluster is given")
    if cluster_keys and not cluster:
        raise UserError("keys are for a cluster; give its tls:// address too, or leave them out")
    forget_failures(store, board.outcome.stored)
    if not board.waiting:
        tell_stored(board)
        return board.outcome
    if workers or cluster:
        _refuse_held(board.waiting)
    if inputs is None:
        inputs = Inputs(store.path)
        inputs.preflight(board.waiting)
    if workers or cluster:
        inputs.forget()  # the workers read for themselves
    with _executor(store, workers, cluster, cluster_keys, resume, inputs) as executor:
        return _Run(board, store, executor, page, keep_going).whole()


def _sound_graph(steps: Sequence[Step], store: Store) -> dict[str, Step]:
    """What is to be made, what that reads and what was asked for, as far as that is stored to the last bit as it was:
    what isn't is made again."""
    while True:
        needed = graph(steps, store.has)
        if all(store.is_whole(step) for step in needed.values() if store.has(step)):
            return needed


def _refuse_held(steps: Iterable[Step]) -> None:
    """Refuse to send what only this process holds to others."""
    for step in steps:
        for value in step.inputs.values():
            if isinstance(value, Root) and value.held is not None:
                raise UserError(
                    f"{value.source} is in this process's memory, which workers can't see; save it, and name it"
                )


def _executor(
    store: Store, workers: int, cluster: str | None, keys: str | Path | None, resume: bool, inputs: Inputs
) -> AbstractContextManager[Executor]:
    if cluster:
        from bertscope.study import cluster as dask

        return dask.executor(store, cluster, Path(keys) if keys else None, resume)
    if workers:
        from bertscope.study import processes

        return processes.executor(store, workers, resume)
    return nullcontext(_Here(store, resume, inputs))


class _Here:
    """This process: a job at a time."""

    slots = 1

    def __init__(self, store: Store, resume: bool, inputs: Inputs) -> None:
        self._store, self._resume, self._inputs = store, resume, inputs
        self._job: Job = ()

    def start(self, job: Job) -> None:
        self._job = job

    def collect(self, seconds: float) -> list[Outcome]:
        job, self._job = self._job, ()
        if not job:
            time.sleep(seconds)
        return make(job, self._store, self._inputs, resume=self._resume) if job else []


class _Log:
    """What a run did, line by line, in `STORE/logs/DATE.log`. Several processes may write to it at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "logs" / f"{datetime.now():%Y-%m-%d}.log"

    def write(self, line: str, more: str = "") -> None:
        """Add a line, and lines under it. A log that can't be written is no reason to stop."""
        under = "".join(f"    {one}\n" for one in more.splitlines())
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                when = datetime.now().isoformat(timespec="seconds")
                stream.write(harmless(f"{when}  {os.getpid():>7}  {one_line(line)}\n{under}"))


class _Run:
    def __init__(
        self, board: Board, store: Store, executor: Executor, page: Callable[[], None] | None, keep_going: bool
    ) -> None:
        self._board, self._store, self._executor, self._keep_going = board, store, executor, keep_going
        self._watch = watch(board, store)
        self._log = _Log(store.folder)
        self._report = GrowingReport(page) if page else None
        self._in_hand: set[str] = set()  # the first step of each job that is being made
        self._look_again: dict[str, float] = {}  # when to look at a step that another process is making

    def whole(self) -> RunOutcome:
        board = self._board
        self._log.write(f"run: {len(board.waiting)} of {len(board.steps)} steps are to be made")
        try:
            with self._watch.open():
                for at in board.outcome.stored:
                    self._watch.say("stored", board.steps[at])
                while board.waiting or board.running:
                    self._hand_out()
                    self._refresh()
                    for outcome in self._executor.collect(POLL):
                        self._take_in(outcome)
        except BaseException as error:
            self._log.write(f"stopped: {type(error).__name__} {error}")
            raise
        if self._report:
            self._report.write()
        counts = {name: len(getattr(board.outcome, name)) for name in ("done", "stored", "failed", "skipped")}
        self._log.write("end: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
        return board.outcome

    def _hand_out(self) -> None:
        """Give as many jobs out as there are free slots."""
        board, now = self._board, time.monotonic()
        ready = []
        for step in board.ready():
            if self._store.has(step):
                board.find(step)
                self._note("stored", step)
            elif self._look_again.get(step.id, now) <= now:
                if self._store.is_running(step):  # by another process
                    self._look_again[step.id] = now + POLL
                else:
                    ready.append(step)
        chosen = {step.id for step in ready}
        later = [step for step in board.waiting if step.id not in chosen]
        board.slots = self._executor.slots
        for job in jobs(ready, later)[: max(0, board.slots - len(self._in_hand))]:
            self._in_hand.add(job[0].id)
            for step in job:
                board.start(step)
                self._note("running", step)
            self._executor.start(job)

    def _take_in(self, outcome: Outcome) -> None:
        board, step = self._board, self._board.steps[outcome.id]
        if outcome.how == "waits":
            self._log.write(f"waits    {step.id}  {outcome.reason}")
            self._watch.say("waits", step, outcome.reason)
            return
        self._in_hand.discard(outcome.id)
        if outcome.how == "done":
            board.finish(step, outcome.seconds)
            self._note("done", step, outcome.seconds)
        elif outcome.how == "stored":
            board.find(step)
            self._note("stored", step)
        elif outcome.how == "busy":
            board.put_back(step)
            self._look_again[step.id] = time.monotonic() + POLL
        else:
            self._fail(step, outcome)

    def _fail(self, step: Step, outcome: Outcome) -> None:
        self._log.write(f"failed   {step.id}  {outcome.reason}", outcome.trace)
        if outcome.how == "full_disk":
            raise FullDiskError(outcome.reason)  # no other step could be written either
        bug = BugError(outcome.reason, outcome.trace, self._log.path) if outcome.trace else None
        if not self._keep_going:
            raise bug or UserError(outcome.reason)
        reason = str(bug or outcome.reason)
        keep_failure(self._store, step.id, reason)
        self._watch.say("failed", step, reason, outcome.trace)
        for skipped in self._board.fail(step, reason):
            why = self._board.outcome.skipped[skipped.id]
            self._watch.say("skipped", skipped, why)
            self._log.write(f"skipped  {skipped.id}  {why}")

    def _note(self, what: str, step: Step, seconds: float | None = None) -> None:
        if seconds is None:
            self._log.write(f"{what:8} {step.id}")
            self._watch.say(what, step)
        else:
            self._log.write(f"{what:8} {step.id}  {seconds:.1f} s")
            self._watch.done(step, seconds)
        if what != "running":
            forget_failures(self._store, {step.id})
        if what != "running" and self._report and describe(self._store.path(step) / "result")["figures"]:
            self._report.tell()

    def _refresh(self) -> None:
        """A page that can't be written now is no reason to stop."""
        if self._report and self._report.due():
            try:
                self._report.write()
            except Exception as error:
                self._log.write(f"page     {type(error).__name__}: {error}")
