"""Steps on other processes of this machine.

A worker is a Python of its own that talks with us through an unnamed pipe: there is no port and no file that another
user could open, and what travels is JSON, which runs no code. It starts when there is a first job for it. One that
dies is replaced, and the next one takes up what it left in the store. Our end of the pipe tells a worker that we
live: when it closes, by Ctrl-C or kill -9, the worker stops what it does and ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from typing import Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.harmless import harmless_output
from bertscope.core.store import Store
from bertscope.core.threads import users_environment
from bertscope.study.execute import Outcome
from bertscope.study.shared_passes import Job
from bertscope.study.worker import failed, work

_RETRIES = 2
"""How often a job whose worker died is given to another one."""
_GRACE = 3.0
"""Seconds for a worker to leave what it does, before it is killed."""
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
"""Of a worker, unless the user's own says otherwise. It counts from the first import of torch or numpy on."""
# The caller's script is never imported: it may have no guard, and run the study again. -P: nothing is imported from
# the working folder that the caller wouldn't import from there.
_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from bertscope.study.processes import serve; serve(int(sys.argv[1]))"
)


@contextmanager
def executor(store: Store, workers: int, resume: bool) -> Iterator[Processes]:
    """Up to that many workers of this machine. When the block ends they are gone."""
    processes = Processes(store, workers, resume)
    try:
        yield processes
    finally:
        processes.end()


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    job: Job = ()
    deaths: int = 0
    """Of others that were making its job."""


class Processes:
    def __init__(self, store: Store, workers: int, resume: bool) -> None:
        store.mark()
        self.slots = workers
        self._order = {"folder": str(store.folder.absolute()), "token": store.token, "resume": resume}
        self._workers: list[_Worker] = []

    def start(self, job: Job) -> None:
        self._give(job, deaths=0)

    def collect(self, seconds: float) -> list[Outcome]:
        ready = wait([worker.pipe for worker in self._workers], seconds)
        outcomes = []
        for worker in [worker for worker in self._workers if worker.pipe in ready]:
            try:
                records = json.loads(worker.pipe.recv_bytes())
            except (EOFError, OSError):
                outcomes += self._replace(worker)
            else:
                told = [Outcome(**record) for record in records]
                outcomes += told
                if all(outcome.how != "waits" for outcome in told):
                    worker.job = ()
        return outcomes

    def end(self) -> None:
        """Let the workers go, also from what they are doing."""
        for worker in self._workers:
            worker.pipe.close()
        deadline = time.monotonic() + _GRACE
        try:
            for worker in self._workers:
                with suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.wait()

    def _give(self, job: Job, deaths: int) -> None:
        worker = next((worker for worker in self._workers if not worker.job), None) or self._another()
        worker.job, worker.deaths = job, deaths
        with suppress(OSError):  # it is dead, which `collect` finds out
            _send(worker.pipe, {"records": [step.to_json() for step in job]} | self._order)

    def _replace(self, dead: _Worker) -> list[Outcome]:
        """Give what a dead worker was making to another one, or give it up."""
        self._workers.remove(dead)
        dead.pipe.close()
        dead.process.kill()
        dead.process.wait()
        if not dead.job:
            return []
        if dead.deaths < _RETRIES:
            self._give(dead.job, dead.deaths + 1)
            return []
        return failed(
            dead.job, "its worker died, and so did those that took it up; perhaps there is too little memory"
        )

    def _another(self) -> _Worker:
        ours, theirs = Pipe()
        words = [sys.executable, "-P", "-c", _BEGIN, str(theirs.fileno()), json.dumps([*map(str, sys.path)])]
        with theirs, _without_interruption():
            try:
                process = subprocess.Popen(
                    words, env=_ENVIRONMENT | users_environment(), pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=2,  # what a library prints is no answer of ours
                )  # fmt: skip
            except OSError as error:
                raise UserError(f"no worker could be started ({error}); try fewer workers") from error
            self._workers.append(_Worker(process, ours))
        with suppress(OSError):
            _send(ours, _known_here())
        return self._workers[-1]


@contextmanager
def _without_interruption() -> Iterator[None]:
    """Hold Ctrl-C back while a worker is started. What is started here never sees it: a terminal sends it to all
    processes at once, and we tell the workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _known_here() -> dict[str, Any]:
    """What a worker has to know beside the package: questions that a script made known, and the command it is part
    of, for provenance."""
    return {
        "argv": sys.argv,
        "questions": {name: asdict(entry) for name, entry in registry.QUESTIONS.items()},
        "kinds": {name: asdict(kind) for name, kind in registry.KINDS.items()},
    }


def _send(pipe: Connection, message: Any) -> None:
    pipe.send_bytes(json.dumps(message).encode())


def serve(descriptor: int) -> None:
    """A worker's life: make the jobs that come through the pipe, until it is closed."""
    os.set_inheritable(descriptor, False)  # what a step starts mustn't keep the pipe open
    pipe, messages = Connection(descriptor), SimpleQueue[Any]()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_listen, args=(pipe, messages), daemon=True).start()
    with suppress(KeyboardInterrupt), harmless_output():
        try:
            if known := messages.get():
                sys.argv = known["argv"]
                questions = {name: registry.Entry(**entry) for name, entry in known["questions"].items()}
                kinds = {name: registry.Kind(**kind) for name, kind in known["kinds"].items()}
                registry.fill(questions, kinds, {})
            while job := messages.get():
                _send(pipe, work(**job, tell=partial(_send, pipe)))
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _listen(pipe: Connection, messages: SimpleQueue[Any]) -> None:
    """Take messages in. When whoever gave us work is gone, leave it as Ctrl-C would: what is held open is closed."""
    with suppress(EOFError, OSError):
        while True:
            messages.put(json.loads(pipe.recv_bytes()))
    messages.put(None)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
