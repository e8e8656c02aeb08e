"""The steps of a training on a GPU: each shape of batch is a CUDA graph, and nobody waits for a step to end.

A step of a small encoder is a thousand kernels of a few microseconds, and launching them takes longer than they do.
So the whole step (forward and backward pass, clipping, AdamW) is recorded once for each of a few shapes; after that a
step is a copy of its batch and one launch. Batches are filled up to those shapes with what counts for nothing, so the
mean loss is that of the batch. What can't be recorded is done as it is written, without waiting either.

A step whose loss or gradient isn't finite changes nothing: AdamW's kernel looks at a flag on the device. The same
flag is up while a shape is tried before it is recorded, so that weights and moments stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.training.graphs import Recorder, Work
from bertscope.training.memory import weighing
from bertscope.training.objective import Objective
from bertscope.training.prefix import Prefix
from bertscope.training.static_batch import StaticBatch, shape_of

_TRIES = 2  # before a shape is recorded: libraries choose and allocate what they need when they are first called
_SAID = 200  # characters of why it failed
_MOST_SHAPES = 40  # that are recorded; others are done as they are written


@dataclass(frozen=True)
class _Recorded:
    static: StaticBatch
    below: Tensor | None
    """What the frozen layers put out, where they are run once."""
    again: Work


class CapturedSteps:
    """All steps of one training. What they find is told when it is asked for."""

    def __init__(
        self,
        encoder: Encoder,
        objective: Objective,
        trained: Sequence[nn.Parameter],
        optimizer: torch.optim.Optimizer,
        recorder: Recorder,
        *,
        clip: float,
        most: int,
        several: bool,
        precision: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        """
        most      things in a batch
        several   whether a step has several batches, whose gradients are added up
        """
        self._encoder, self._objective, self._trained, self._optimizer = encoder, objective, trained, optimizer
        self._recorder, self._clip, self._most, self._several = recorder, clip, most, several
        self._precision, self._recorded = precision, dict[Any, _Recorded]()
        self._end: Work | None = None
        self._sum, self._size, self._skip, self._found = torch.zeros(4, device=encoder.device).unbind()
        self._last = torch.zeros(2, device=encoder.device)
        self._untold: list[Tensor] = []
        times = {group["times"] for group in optimizer.param_groups}
        self._rates = {one: torch.zeros((), device=encoder.device) for one in times}
        """By the multiple of the learning rate: what the optimiser's kernels read."""
        for group in optimizer.param_groups:
            group["lr"] = self._rates[group["times"]]
        optimizer.found_inf = self._found  # type: ignore[attr-defined]
        self.prefix: Prefix | None = None
        self.activations = 0
        """Bytes that the largest step kept for its backward pass, as far as it was looked at."""
        self.note = ""
        """Why steps aren't recorded; empty where they are."""
        self.replayed = 0
        """Batches that a graph has done."""

    def step(self, parts: Sequence[np.ndarray], rate: float, *, weighed: bool = False) -> None:
        """One step of the optimiser, for the mean loss of all that is in these batches."""
        for times, held in self._rates.items():
            held.fill_(rate * times)
        for things in parts:
            self._do(things, weighed=weighed)
        if self._several:
            self._finish_several()
        self._untold.append(self._last.clone())

    def told(self) -> np.ndarray:
        """[step, 2]: the loss and the gradient's norm of each step since this was asked last. Waits for them."""
        found = torch.stack(self._untold).cpu().numpy()
        self._untold.clear()
        return found

    def close(self) -> None:
        """Let go of what the graphs hold."""
        self._optimizer.zero_grad(set_to_none=True)
        self._recorded.clear()
        self._end = None
        self._recorder.close()

    def _do(self, things: np.ndarray, *, weighed: bool) -> None:
        batch = None if self.note else self._objective.fixed_batch(things, self._most)
        if batch is not None and (recorded := self._found_or_made(batch)) is not None:
            recorded.static.fill(batch)
            if recorded.below is not None and self.prefix is not None:
                recorded.below.copy_(self.prefix.gathered(batch))
            recorded.again()
            self.replayed += 1
            return
        plain = self._objective.batch(things)
        with weighing(self._encoder.model, self) if weighed else nullcontext():
            self._work(plain, None)

    def _found_or_made(self, batch: Batch) -> _Recorded | None:
        """The graph for batches of this shape; None where there is none, and none can be made."""
        shape = shape_of(batch)
        if shape not in self._recorded and len(self._recorded) < _MOST_SHAPES:
            static = StaticBatch(batch, self._encoder.device)
            below = self.prefix.gathered(batch).clone() if self.prefix else None
            if again := self._record(lambda: self._work(static.batch, below)):
                self._recorded[shape] = _Recorded(static, below, again)
        return self._recorded.get(shape)

    def _record(self, work: Work) -> Work | None:
        """Try the work, which changes nothing, and record it."""
        with self._unchanged(), self._recorder.aside():
            with weighing(self._encoder.model, self):
                work()
            for _ in range(_TRIES - 1):
                work()
        try:
            return self._recorder.record(work)
        except RuntimeError as error:
            self._recorded.clear()
            self._recorder.close()
            for parameter in () if self._several else self._trained:
                parameter.grad = None
            self.note = f"trained without CUDA graphs: recording a step failed ({_beginning(error)})"
            return None

    def _work(self, batch: Batch, below: Tensor | None) -> None:
        if not self._several:
            for parameter in self._trained:
                parameter.grad = None
        instead = self.prefix.instead(batch, below) if self.prefix else nullcontext()
        with self._precision(), instead:
            loss, size = self._objective.sized_loss(batch)
        if self._several:  # what all batches are divided by, the last one tells
            loss = loss * size
            self._sum.add_(loss.detach())
            self._size.add_(size)
        else:
            self._sum.copy_(loss.detach())
        loss.backward()
        if not self._several:
            self._update()

    def _update(self) -> None:
        norm = nn.utils.clip_grad_norm_(self._trained, self._clip)
        self._last.copy_(torch.stack([self._sum, norm.to(self._sum.dtype)]))
        self._found.copy_(torch.maximum(self._skip, (~self._last.isfinite().all()).to(self._skip.dtype)))
        self._optimizer.step()

    def _finish_several(self) -> None:
        if self._end is None and not self.note:
            self._end = self._record(self._divide_and_update)
        (self._end or self._divide_and_update)()

    def _divide_and_update(self) -> None:
        gradients = self._gradients
        torch._foreach_div_(gradients, self._size)
        self._sum.div_(self._size)
        self._update()
        torch._foreach_zero_([*gradients, self._sum, self._size])

    @property
    def _gradients(self) -> list[Tensor]:
        return [parameter.grad for parameter in self._trained if parameter.grad is not None]

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Whatever is tried inside the block: weights, moments, the generator and what was added up stay."""
        device = self._encoder.device
        added_up = [self._sum, self._size, self._last]
        added_up += [self._objective.row_course.now] if self._objective.row_course else []
        kept = [(tensor, tensor.clone()) for tensor in added_up]
        kept += [(gradient, gradient.clone()) for gradient in self._gradients] if self._several else []
        had = {id(gradient) for gradient, _ in kept}
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            self._skip.fill_(1)
            yield
            self._skip.fill_(0)
        for tensor, before in kept:
            tensor.copy_(before)
        if self._several:
            for gradient in self._gradients:
                if id(gradient) not in had:
                    gradient.zero_()


def _beginning(error: RuntimeError) -> str:
    """Its first line; where that ends with a colon, as a compiler's does, the next one too."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return said[:_SAID].rstrip(".") or type(error).__name__
