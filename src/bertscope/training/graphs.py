"""CUDA graphs: work on a GPU that is recorded once, and done again by one launch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

import torch
from torch.overrides import TorchFunctionMode

Work = Callable[[], None]


class Recorder(Protocol):
    """Whoever can do work again; a test can simply do it."""

    def aside(self) -> AbstractContextManager[None]:
        """A block whose work is done beside other work, and before what follows the block."""

    def record(self, work: Work) -> Work:
        """What does the work again, on the same tensors; to record it does nothing yet."""

    def close(self) -> None:
        """Forget what was recorded: nobody does it again."""


class NumbersThere(TorchFunctionMode):
    """Numbers that the library's code brings to the device are written there instead: a copy from memory that isn't
    pinned can't be recorded, and the masks of some families are made with one."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.tensor and args and isinstance(args[0], int | float) and kwargs.get("device") is not None:
            return torch.full((), args[0], dtype=kwargs.get("dtype"), device=kwargs["device"])
        return func(*args, **kwargs)


class CudaGraphs:
    """Graphs that never run at once, and leave nothing to each other: so they share their memory."""

    def __init__(self, device: torch.device) -> None:
        self._device = torch.device(
            device.type, torch.cuda.current_device() if device.index is None else device.index
        )
        self._stream = torch.cuda.Stream(self._device)
        self._numbers = NumbersThere()
        self.close()

    def close(self) -> None:
        # Memory that graphs share is gone with the last of them, and can't be asked for again.
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def aside(self) -> Iterator[None]:
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        # What is tried here is recorded here: code that is compiled in one such mode is compiled anew in another.
        with torch.cuda.stream(self._stream), self._numbers:
            yield
        torch.cuda.current_stream(self._device).wait_stream(self._stream)

    def record(self, work: Work) -> Work:
        graph, generator = torch.cuda.CUDAGraph(), torch.cuda.default_generators[self._device.index]
        before = generator.clone_state()
        torch.cuda.synchronize(self._device)
        with self.aside(), _nothing_collected():
            try:
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                work()
                graph.capture_end()
            except BaseException:
                with suppress(RuntimeError):  # what broke is said already
                    graph.capture_end()
                # A recording that broke off leaves the generator as one that is recorded, which draws no more.
                generator.graphsafe_set_state(before)
                raise
        self._graphs.append(graph)
        return graph.replay


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """No garbage is collected in the block: an older training's graph may be among it, and to destroy a graph while
    another is recorded breaks the recording."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
