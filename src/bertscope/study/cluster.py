"""Steps on other processes: this machine's, or those of a running Dask scheduler.

What travels is a step's JSON and the store's path, never a tensor: the workers see the same folder. The scheduler
gives what a dead worker was making to another one, which takes up what the first left in the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.progress import no_bars
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.execute import Outcome, make
from bertscope.study.shared_passes import Job

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT = 30
"""Seconds to wait for a scheduler to answer."""
_DASHBOARD = "127.0.0.1:0"
"""Dask's own page: for this machine alone, wherever a port is free."""


@contextmanager
def executor(store: Store, workers: int, address: str | None, resume: bool) -> Iterator[Workers]:
    """Workers of this machine, as long as the block lasts, or those of the scheduler at `address`."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UserError("workers need Dask, which isn't installed; pip install 'bertscope[cluster]'") from error
    if address is None:
        # Dask's own limit of memory would kill a worker for the size of its model.
        here = LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=_DASHBOARD,
            silence_logs=logging.CRITICAL,
        )  # fmt: skip
        with here, Client(here) as client:
            yield Workers(client, store, resume)
        return
    try:
        client = Client(address, timeout=_CONNECT)
    except (OSError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at {address}; start one, or check the address") from error
    with client:
        yield Workers(client, store, resume)


class Workers:
    def __init__(self, client: Client, store: Store, resume: bool) -> None:
        self._client, self._folder, self._resume = client, str(store.folder.absolute()), resume
        self._futures: dict[Future, Job] = {}

    @property
    def slots(self) -> int:
        """A job for each worker; workers may come and go."""
        return max(1, len(self._workers()))

    def start(self, job: Job) -> None:
        records = [step.to_json() for step in job]
        future = self._client.submit(
            work, records, self._folder, self._resume, pure=False, retries=2, resources=self._resources(job)
        )
        self._futures[future] = job

    def collect(self, seconds: float) -> list[Outcome]:
        from distributed import wait

        if not self._futures:
            time.sleep(seconds)
            return []
        try:
            finished = wait(list(self._futures), timeout=seconds, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        except CancelledError as error:
            raise UserError("the Dask scheduler went away; start it and run again: it goes on") from error
        return [one for future in finished for one in self._outcomes(future, self._futures.pop(future))]

    def _outcomes(self, future: Future, job: Job) -> list[Outcome]:
        from distributed import KilledWorker

        if future.status == "finished":
            return [Outcome(**record) for record in future.result()]
        error = future.exception()
        reason = f"the cluster gave it up ({error!r})"
        if isinstance(error, KilledWorker):
            reason = "its worker died, and so did those that took it up; perhaps there is too little memory"
        return [Outcome(step.id, "failed", reason=" ".join(reason.split())) for step in job]

    def _resources(self, job: Job) -> dict[str, float] | None:
        """A GPU for what fills a folder of its own (a training, a pruning, hidden states), where there are any."""
        wanted = any(registry.find(step.name).keeps for step in job)
        there = any(worker["resources"].get("GPU") for worker in self._workers().values())
        return {"GPU": 1} if wanted and there else None

    def _workers(self) -> dict[str, Any]:
        return self._client.scheduler_info(n_workers=-1)["workers"]


_one_at_a_time = threading.Lock()
_opened: dict[str, Inputs] = {}


def work(records: list[dict[str, Any]], folder: str, resume: bool) -> list[dict[str, Any]]:
    """What a worker does: make these steps in the store at `folder`, with one thread."""
    import torch
    from threadpoolctl import threadpool_limits

    store = Store(folder)
    with _one_at_a_time, threadpool_limits(1), no_bars():
        torch.set_num_threads(1)
        inputs = _opened.setdefault(folder, Inputs(store.path))
        steps = [Step.from_json(record) for record in records]
        return [asdict(outcome) for outcome in make(steps, store, inputs, resume=resume)]
