"""Checkpoints along a training: whole models after chosen steps, in folders beside the training's own until it ends.

What is kept is a function of the training's state at that step alone: a training that was killed, and goes on from
its last epoch, keeps the same bits again.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from bertscope.core import seal
from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.limits import in_bytes
from bertscope.core.model_record import Origin
from bertscope.models.config_notes import notes_in, origin_in, origin_note
from bertscope.models.encoder import Encoder
from bertscope.models.source import KIND
from bertscope.training.checkpoint import Checkpoint, kept_name
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.history import History
from bertscope.training.objective import Objective

_BESIDE = 4_000_000
"""Bytes that a checkpoint has beside its weights, tokenizer and config, as far as that can be told before."""


def kept_steps(total: int, count: int, spacing: str) -> tuple[int, ...]:
    """After which of `total` steps one of `count` checkpoints is kept: after none and after all, and between.

    >>> kept_steps(100, 5, "even"), kept_steps(100, 6, "logarithmic")
    ((0, 25, 50, 75, 100), (0, 1, 3, 10, 32, 100))
    """
    if count > total + 1:
        raise UserError(f"keep is {count}, but the training has {total} steps: {total + 1} checkpoints at most")
    if spacing == "even":
        return tuple(round(place * total / (count - 1)) for place in range(count))
    steps = [0]
    for place in range(count - 1):
        wanted = round(total ** (place / (count - 2))) if count > 2 else total
        # The first of many lie closer than a step: each is a step of its own, and leaves one for each that follows.
        steps.append(min(max(wanted, steps[-1] + 1), total - (count - 2 - place)))
    return tuple(steps)


class Keeping:
    """Keeps the checkpoints of one training."""

    def __init__(
        self,
        encoder: Encoder,
        objective: Objective,
        settings: FinetuneConfig,
        total: int,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.steps: tuple[int, ...] = ()
        if not isinstance(settings.keep, int):
            return
        if checkpoint is None:
            raise UserError(f"keep is {settings.keep}, and there is no place to keep them; give out= or store=")
        self.steps = kept_steps(total, settings.keep, settings.keep_spacing)
        self._encoder, self._objective, self._checkpoint = encoder, objective, checkpoint

    def need_room(self, done: int) -> None:
        """Refuse to begin, or to go on after so many steps, where the disk hasn't room for what is to be kept."""
        missing = [step for step in self.steps if step > done or not done]
        if not missing:
            return
        each = sum(held.numel() * held.element_size() for held in self._encoder.model.state_dict().values())
        needed = (len(missing) + 1) * (each + _BESIDE)  # and the model at the end
        folder = next(one for one in self._checkpoint.folder.absolute().parents if one.exists())
        if (free := shutil.disk_usage(folder).free) < needed:
            raise FullDiskError(
                f"{len(missing)} checkpoints need about {in_bytes(needed)} in {folder}, where {in_bytes(free)} "
                "are free; keep fewer, or free some space"
            )

    def refuse_lost(self, done: int) -> None:
        """Refuse to go on after so many steps where what was kept before isn't there any more. A training that was
        killed while it cleared up has it in the model already, from where it is put back."""
        for step in [one for one in self.steps if one <= done]:
            folder = self._checkpoint.kept(step)
            if seal.flaw(folder, KIND):
                self._checkpoint.put_back(step, origin_in(self._encoder.model.config))
            if wrong := seal.flaw(folder, KIND):
                raise UserError(f"{folder} was kept of this training, and {wrong}; start over (--no-resume)")

    def after(self, step: int, history: History) -> None:
        """Keep the model as it is after so many steps, if that is one to keep; the time isn't the training's."""
        if step not in self.steps:
            return
        if self._encoder.device.type == "cuda":
            torch.cuda.synchronize(self._encoder.device)
        started = time.perf_counter()
        with self._objective.as_kept(), as_checkpoint(self._encoder, step) as encoder:
            encoder.save(self._checkpoint.kept(step))
        history.kept.append(step)
        history.seconds -= time.perf_counter() - started

    def folders(self) -> dict[str, Path]:
        """All that was kept, by the names that it has in the model's folder."""
        return {kept_name(step): self._checkpoint.kept(step) for step in self.steps}


@contextmanager
def as_checkpoint(encoder: Encoder, step: int, origin: Origin | None = None) -> Iterator[Encoder]:
    """The encoder, called and recorded as what it is after so many steps, for the length of a block; `origin` is how
    it is made, where its config doesn't say it."""
    config, name = encoder.model.config, f"{encoder.name}, step {step:,}"
    noted, before, origin = hasattr(config, "bertscope"), notes_in(config), origin or origin_in(config)
    config.bertscope = before | {"name": name} | (origin_note(replace(origin, step=step)) if origin else {})
    try:
        yield replace(encoder, name=name)
    finally:
        if noted:
            config.bertscope = before
        else:
            del config.bertscope
