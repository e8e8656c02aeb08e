"""Steps on the workers of a running Dask scheduler.

What travels is a step's JSON and the store's path, never a tensor: the workers see the same folder. The scheduler
gives what a dead worker was making to another one, which takes up what the first left in the store.

Dask runs what it is sent: whoever reaches a scheduler without TLS runs code on all its workers.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.progress import verbosity
from bertscope.core.store import Store
from bertscope.study import worker
from bertscope.study.cluster_keys import security
from bertscope.study.execute import Outcome
from bertscope.study.shared_passes import Job

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT = 30
"""Seconds to wait for a scheduler to answer."""
_CLOSED = ("tls://", "wss://", "inproc://")
"""How addresses begin that strangers can't send code to."""


@contextmanager
def executor(store: Store, address: str, keys: Path | None, resume: bool) -> Iterator[Workers]:
    """The workers of the scheduler at `address`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError("--cluster needs Dask, which isn't installed; pip install 'bertscope[cluster]'") from error
    trusted = security(address, keys)
    if not address.startswith(_CLOSED) and verbosity() != "quiet":
        print(
            f"note: anyone who reaches {address} can run code as you; 'bertscope study keys' makes keys for a tls:// "
            "address", file=sys.stderr,
        )  # fmt: skip
    try:
        client = Client(address, timeout=_CONNECT, security=trusted)
    except (OSError, ValueError) as error:
        cure = "or check the address and the keys" if address.startswith("tls://") else "or check the address"
        raise UserError(f"no Dask scheduler answers at {address}; start one, {cure}") from error
    with client, store.marked_run() as run:
        yield Workers(client, store, resume, run)


class Workers:
    def __init__(self, client: Client, store: Store, resume: bool, run: str) -> None:
        self._client = client
        self._order = (str(store.folder.absolute()), store.token, resume, run)
        self._futures: dict[Future, Job] = {}

    @property
    def slots(self) -> int:
        """A job for each worker; workers may come and go."""
        return max(1, len(self._workers()))

    def start(self, job: Job) -> None:
        records = [step.to_json() for step in job]
        future = self._client.submit(
            _work, records, *self._order, pure=False, retries=2, resources=self._resources(job)
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
        return worker.failed(job, reason)

    def _resources(self, job: Job) -> dict[str, float] | None:
        """A GPU for what fills a folder of its own (a training, a pruning, hidden states), where there are any."""
        wanted = any(registry.find(step.name).keeps for step in job)
        there = any(one["resources"].get("GPU") for one in self._workers().values())
        return {"GPU": 1} if wanted and there else None

    def _workers(self) -> dict[str, Any]:
        return self._client.scheduler_info(n_workers=-1)["workers"]


_one_at_a_time = threading.Lock()


def _work(records: list[dict[str, Any]], folder: str, token: str, resume: bool, run: str) -> list[dict[str, Any]]:
    """What a worker does, with one thread: a Dask worker may have several, and so may what it calls."""
    import torch
    from threadpoolctl import threadpool_limits

    with _one_at_a_time, threadpool_limits(1):
        torch.set_num_threads(1)
        return worker.work(records, folder, token, resume, run)
