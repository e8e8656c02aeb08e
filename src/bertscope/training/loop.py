"""The training loop: AdamW, warm-up and linear decay, clipping, a checkpoint after each epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text, refuse_foreign
from bertscope.core.order import bucketed
from bertscope.core.progress import progress
from bertscope.models.batches import pad
from bertscope.models.encoder import Encoder
from bertscope.models.source import FOLDER
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.finetune import FinetuneConfig
from bertscope.training.objective import Objective

_POINTS_PER_EPOCH = 20  # of the loss curve
_WIDE = 384  # hidden units from which training on a GPU is done in bfloat16


@dataclass
class History:
    """What happened so far: a row per epoch, a row per point of the loss curve."""

    chance: float
    epochs: list[dict[str, float]] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    best: int = 0
    """The epoch with the highest score on select."""


def train(
    encoder: Encoder, objective: Objective, settings: FinetuneConfig, *, out: Path | None, resume: bool
) -> History:
    """Train `encoder` in place on the objective's fit split; with `out`, save it there and survive being killed.

    The checkpoint is left for the caller to remove, once nothing can be lost any more.
    """
    if out is not None:
        refuse_foreign(out, FOLDER)
    run = _Run(encoder, objective, settings, out)
    if run.checkpoint and run.checkpoint.exists():
        if resume:
            run.best_weights = run.checkpoint.restore(encoder.model, run.optimizer, run.history, run.recipe)
        else:
            run.checkpoint.remove()
    run.to_the_end()
    if out is not None:
        encoder.save(out)
    return run.history


class _Run:
    """One training, from the state it is in to its end."""

    def __init__(self, encoder: Encoder, objective: Objective, settings: FinetuneConfig, out: Path | None) -> None:
        assert settings.epochs and settings.learning_rate is not None
        self.encoder, self.objective, self.settings, self.out = encoder, objective, settings, out
        self.model, self.epochs, self.tokens = encoder.model, settings.epochs, objective.tokens
        self.history = History(chance=objective.chance)
        self.steps_per_epoch = math.ceil(len(self.tokens) / settings.batch_size)
        self.optimizer = _adamw(self.model, settings.learning_rate, settings.weight_decay)
        self.checkpoint = None if out is None else Checkpoint.of(out)
        # What tells this training from another one that would write to the same place.
        self.recipe = digest_text(canonical_json([to_json(settings), encoder.fingerprint, objective.fingerprint]))
        self.best_weights: dict[str, Tensor] | None = None
        # A small encoder waits for kernels to be launched, and half precision launches more of them.
        self._halves = encoder.device.type == "cuda" and encoder.hidden_size >= _WIDE

    def to_the_end(self) -> None:
        if not self.history.epochs:
            self._close_epoch(0, float("nan"))
        total = self.epochs * self.steps_per_epoch
        done = len(self.history.epochs) - 1
        with progress(f"fine-tuning {self.encoder.name}", total) as bar, _own_randomness(self.encoder.device):
            bar.advance(done * self.steps_per_epoch)
            for epoch in range(done + 1, self.epochs + 1):
                started = time.perf_counter()
                loss = self._epoch(epoch, bar)
                self.history.seconds += time.perf_counter() - started
                row = self._close_epoch(epoch, loss)
                bar.advance(0, **{self.objective.metric: f"{row['score']:.3f}"})
        self._finish()

    def _finish(self) -> None:
        """Make the model what is kept of the training: the best weights, if asked for, in the task's own units."""
        if self.settings.keep == "best" and self.best_weights is not None:
            self.model.load_state_dict(self.best_weights, strict=False)
        self.objective.finish()

    def _epoch(self, epoch: int, bar: Any) -> float:
        # Everything random in an epoch comes from the seed and its number: a resumed training is the same training.
        generator = np.random.default_rng([self.settings.seed, epoch])
        torch.manual_seed(int(generator.integers(2**63)))
        self.model.train()
        losses: list[float] = []
        every = max(1, self.steps_per_epoch // _POINTS_PER_EPOCH)
        for place, rows in enumerate(bucketed(self.tokens.lengths, self.settings.batch_size, generator)):
            step = (epoch - 1) * self.steps_per_epoch + place
            losses.append(self._step(rows, step, epoch))
            if (place + 1) % every == 0:
                self.history.steps.append({"step": step + 1, "loss": float(np.mean(losses[-every:]))})
            bar.advance(1, loss=f"{losses[-1]:.3f}")
        self.model.eval()
        return float(np.mean(losses))

    def _step(self, rows: np.ndarray, step: int, epoch: int) -> float:
        device = self.encoder.device
        batch = pad(self.tokens, rows, pad_id=self.encoder.tokenizer.pad_token_id or 0, device=device)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate(step)
        with torch.autocast(device.type, torch.bfloat16, enabled=self._halves):
            loss = self.objective.loss(batch, torch.from_numpy(rows).to(device))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        value = loss.item()
        if not (math.isfinite(value) and math.isfinite(norm.item())):
            self._give_up(value, step, epoch)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return value

    def _learning_rate(self, step: int) -> float:
        """Up linearly over the warm-up, then down linearly to 0 after the last step."""
        assert self.settings.learning_rate is not None
        total = self.epochs * self.steps_per_epoch
        warmup = round((self.settings.warmup or 0) * total)
        share = (step + 1) / (warmup + 1) if step < warmup else (total - step) / max(1, total - warmup)
        return self.settings.learning_rate * share

    def _close_epoch(self, epoch: int, loss: float) -> dict[str, float]:
        """Score the select split, remember the epoch, and make it the one to come back to."""
        score = self.objective.score()
        row = {"epoch": epoch, "loss": loss, "score": score.value, "low": score.low, "high": score.high}
        row |= score.secondary
        self.history.epochs.append(row)
        if score.value > self.history.epochs[self.history.best]["score"]:
            self.history.best = epoch
        if self.settings.keep == "best" and self.history.best == epoch:
            self.best_weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        if self.checkpoint and epoch:
            self.checkpoint.save(self.model, self.optimizer, self.history, self.recipe, self.best_weights)
        return row

    def _give_up(self, loss: float, step: int, epoch: int) -> None:
        what = f"the loss became {loss}" if not math.isfinite(loss) else "the gradient became infinite"
        kept = ""
        if self.out and self.checkpoint and self.checkpoint.exists():
            self.best_weights = self.checkpoint.restore(self.model, self.optimizer, self.history, self.recipe)
            self._finish()
            self.encoder.save(self.out)
            kept = f"; the weights after epoch {epoch - 1} are kept in {self.out}"
        total = self.epochs * self.steps_per_epoch
        raise UserError(
            f"training stopped: {what} at step {step + 1} of {total} (epoch {epoch}){kept}; "
            f"try a learning rate under {self.settings.learning_rate:g}"
        )


def _adamw(model: Any, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW over all parameters; weight decay spares biases and LayerNorm, which are all one-dimensional."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


@contextmanager
def _own_randomness(device: torch.device) -> Iterator[None]:
    """Seed freely inside the block: the caller's generators come back as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield
