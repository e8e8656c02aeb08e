"""The training loop: AdamW, clipping, a checkpoint after each epoch. How many steps an epoch has, which, and at what
learning rate, its course says (`course.py`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.folders import refuse_foreign
from bertscope.core.progress import Progress, progress
from bertscope.core.room import Share
from bertscope.models.encoder import Encoder
from bertscope.models.source import KIND
from bertscope.training.captured import CapturedSteps
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.course import Course, Epochs
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.frozen import by_rate, frozen, rest
from bertscope.training.graphs import CudaGraphs, Recorder
from bertscope.training.history import History
from bertscope.training.keeping import Keeping
from bertscope.training.memory import largest_step, room_on, still_to_take, weighing
from bertscope.training.objective import Objective
from bertscope.training.optimizer import adamw
from bertscope.training.precision import HALF, SINGLE, half_is_better, has_half
from bertscope.training.prefix import Prefix
from bertscope.training.randomness import own_randomness

_POINTS_PER_EPOCH = 20  # of the loss curve
_UNTOLD = 16  # steps at least that a GPU has before anybody waits for their losses


def train(
    encoder: Encoder,
    objective: Objective,
    settings: FinetuneConfig,
    *,
    out: Path | None,
    resume: bool,
    keep_prefix: bool = True,
    course: Course | None = None,
    halves: bool | None = None,
    closed: Callable[[History], None] | None = None,
) -> History:
    """Train `encoder` in place on the objective's training set; with `out`, save it there and survive being killed.
    The checkpoint is left for the caller to remove, once nothing can be lost any more.

    keep_prefix=False runs frozen layers in every step, though they always say the same: to compare with
    course   how it goes; by default through the training set as often as the settings say
    halves   whether passes are in half precision on a GPU that has it; by default where that was measured to gain
    closed   is told of each epoch that ends, and of epoch 0 before any step
    """
    if out is not None:
        refuse_foreign(out, KIND)
    with frozen(encoder, settings.held) as settled:
        run = Training(encoder, objective, settings, out, settled if keep_prefix else 0, course, halves, closed)
        if run.checkpoint and resume and run.checkpoint.exists():
            run.restore()
        elif run.checkpoint:
            run.checkpoint.remove()
        run.keeping.need_room(run.course.steps_done(run.history))
        with run.room():
            run.to_the_end()
    if out is not None:
        encoder.save(out, within=run.keeping.folders())
    return run.history


class Training:
    """One training, from the state it is in to its end. Parameters that need no gradient now stay as they are, and
    what the first `settled` layers put out is computed once."""

    def __init__(
        self,
        encoder: Encoder,
        objective: Objective,
        settings: FinetuneConfig,
        out: Path | None,
        settled: int = 0,
        course: Course | None = None,
        halves: bool | None = None,
        closed: Callable[[History], None] | None = None,
    ) -> None:
        assert settings.learning_rate is not None
        self.encoder, self.objective, self.settings, self.out = encoder, objective, settings, out
        self.model, self.course = encoder.model, course if course else Epochs(objective.lengths, settings)
        self.history, self._closed = History(chance=objective.chance), closed or (lambda history: None)
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        if not self.trained:
            raise UserError(f"all of {encoder.name} is frozen: nothing is left to train; freeze less of it")
        on_gpu = encoder.device.type == "cuda"
        rates = by_rate(encoder, self.trained, settings.head_rate or 1.0)
        self.optimizer = adamw(rates, settings.learning_rate, settings.weight_decay, on_gpu=on_gpu)
        self.checkpoint = None if out is None else Checkpoint.of(out)
        # What tells this training from another one that would write to the same place.
        self.recipe = digest_text(canonical_json([to_json(settings), encoder.fingerprint, objective.fingerprint]))
        self.keeping = Keeping(encoder, objective, settings, self.course.total or 0, self.checkpoint)
        self.best_weights: dict[str, Tensor] | None = None
        wanted = half_is_better(encoder.hidden_size) if halves is None else halves
        self.halves = has_half(encoder.device) and wanted
        self.history.precision = HALF if self.halves else SINGLE
        self.captured = self.capture(CudaGraphs(encoder.device)) if on_gpu else None
        self._settled = 0 if settings.frozen_dropout else settled
        self._prefix: Prefix | None = None
        self._share: Share | None = None

    def go_on_in(self, precision: str) -> None:
        """Train in the precision that the training began with, whatever would be chosen here and now."""
        self.halves = precision == HALF and has_half(self.encoder.device)
        if precision == HALF and not self.halves:
            self.history.notes.append("it began in half precision, which isn't available here, and went on in single")

    @contextmanager
    def room(self) -> Iterator[None]:
        """Wait until a GPU that others use, too, has room for this training."""
        step, best = largest_step(self.course, self.objective), self.settings.keep == "best"
        more = still_to_take(self.encoder, self.trained, *step, keeps_best=best)
        with room_on(self.encoder.device, more) as self._share:
            yield

    def restore(self) -> None:
        """Be as the training was after its last finished epoch."""
        assert self.checkpoint is not None
        beside = self.checkpoint.restore(self.model, self.optimizer, self.history, self.recipe)
        self.best_weights = beside.get("best")
        if self.objective.row_course:
            self.objective.row_course.restore(beside["rows"])
        self.go_on_in(self.history.precision)
        self.keeping.refuse_lost(self.course.steps_done(self.history))

    def to_the_end(self) -> None:
        if not self.history.epochs:
            self._close_epoch(0, float("nan"))
            self.keeping.after(0, self.history)
        if self.course.goes_on(self.history):
            self.prepare()
        with progress(self.objective.label, self.course.total) as bar, own_randomness(self.encoder.device):
            bar.advance(self.course.steps_done(self.history))
            while self.course.goes_on(self.history) and not self._out_of_patience:
                epoch = len(self.history.epochs)
                with self._measured():
                    loss = self.epoch(epoch, bar)
                row = self._close_epoch(epoch, loss)
                bar.advance(0, **{self.objective.metric: f"{row['score']:.3f}"})
        self._finish()

    @property
    def _out_of_patience(self) -> bool:  # no epoch was better than the best for as long as that is waited for
        patience = self.settings.patience  # there is a best from epoch 1 on, and nothing to wait for before it
        return patience is not None and len(self.history.epochs) - 1 - self.history.best >= patience

    def prepare(self) -> None:
        """Run the layers once of which nothing is trained: that is part of the training."""
        with self._measured(), self._precision():
            folder = None if self.out is None else self.out.parent
            self._prefix = Prefix.of(self.encoder, self.objective.tokens, self._settled, folder)
            if self.captured is not None:
                self.captured.prefix = self._prefix

    @contextmanager
    def _measured(self) -> Iterator[None]:
        """Count the block as time of the training, and what it needs on a GPU as its memory; scoring is neither."""
        device, started = self.encoder.device, time.perf_counter()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        yield
        self.history.seconds += time.perf_counter() - started
        if device.type == "cuda":
            self.history.peak = max(self.history.peak, torch.cuda.max_memory_allocated(device))
        if self._share:
            self._share.look()

    def _precision(self) -> Any:
        return torch.autocast(self.encoder.device.type, torch.bfloat16, enabled=self.halves)

    def _finish(self) -> None:
        """Make the model what is kept of the training: the best weights, if asked for, in the task's own units."""
        if self.captured is not None:
            self.captured.close()
        if self.settings.keep == "best" and self.best_weights is not None:
            self.model.load_state_dict(self.best_weights, strict=False)
        self.objective.finish()

    def epoch(self, epoch: int, bar: Progress) -> float:
        """All batches once: the mean loss."""
        # Everything random in an epoch comes from the seed and its number: a resumed training is the same training.
        generator = np.random.default_rng([self.settings.seed, epoch])
        torch.manual_seed(int(generator.integers(2**63)))
        self.model.train()
        if not self.settings.frozen_dropout:
            rest(self.model)
        if rows := self.objective.row_course:
            rows.begin()
        stretch = self.course.stretch(epoch, self.history, generator)
        losses, points = list[float](), 0
        every = max(1, stretch.count // _POINTS_PER_EPOCH)
        for place in range(stretch.count):
            step, parts = stretch.first + place, stretch.batches(place)
            weighed = place == stretch.largest and not self.history.activations
            if self.captured is None:
                losses.append(self._step(parts, stretch.rate(place), step, epoch, weighed=weighed))
            else:
                self.captured.step(parts, stretch.rate(place), weighed=weighed)
                if place + 1 - len(losses) >= max(every, _UNTOLD) or place + 1 == stretch.count:
                    losses += self._told(step, epoch)
            self.keeping.after(step + 1, self.history)
            for point in range(points, len(losses) // every):
                mean = float(np.mean(losses[point * every : (point + 1) * every]))
                self.history.steps.append({"step": stretch.first + (point + 1) * every, "loss": mean})
                points += 1
            told = {"loss": f"{losses[-1]:.3f}"} if losses else {}
            bar.advance(1, **told, **self.course.time_left())
        self.model.eval()
        if rows:
            rows.close()
        return float(np.mean(losses))

    def capture(self, recorder: Recorder) -> CapturedSteps:
        """Steps that are recorded, instead of those that are done one by one: on a GPU."""
        settings = self.settings
        return CapturedSteps(
            self.encoder, self.objective, self.trained, self.optimizer, recorder, clip=settings.clip,
            most=settings.batch_size, several=settings.accumulate > 1, precision=self._precision,
        )  # fmt: skip

    def _told(self, step: int, epoch: int) -> list[float]:
        """The losses since they were last asked for, up to this step; the first that isn't finite ends it."""
        assert self.captured is not None
        told = self.captured.told()
        bad = np.flatnonzero(~np.isfinite(told).all(1))
        if len(bad):
            self._give_up(float(told[bad[0], 0]), step - len(told) + 1 + int(bad[0]), epoch)
        self.history.activations = max(self.history.activations, self.captured.activations)
        if self.captured.note and self.captured.note not in self.history.notes:
            self.history.notes.append(self.captured.note)
        return [float(loss) for loss in told[:, 0]]

    def _step(
        self, parts: Sequence[np.ndarray], rate: float, step: int, epoch: int, *, weighed: bool = False
    ) -> float:
        """One step of the optimiser, for the mean loss of all that is in these batches."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        batches, value = [self.objective.batch(rows) for rows in parts], 0.0
        sizes = [self.objective.size(batch) for batch in batches] if len(batches) > 1 else [1.0]
        for batch, size in zip(batches, sizes, strict=True):
            below = self._prefix.instead(batch) if self._prefix else nullcontext()
            with self._precision(), below, weighing(self.model, self.history) if weighed else nullcontext():
                loss = self.objective.loss(batch) * (size / sum(sizes))
            loss.backward()
            value += loss.item()
        norm = nn.utils.clip_grad_norm_(self.trained, self.settings.clip)
        if not (math.isfinite(value) and math.isfinite(norm.item())):
            self._give_up(value, step, epoch)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return value

    def _close_epoch(self, epoch: int, loss: float) -> dict[str, float]:
        """Score the validation set, remember the epoch, and make it the one to come back to."""
        score = self.objective.score()
        row = {"epoch": epoch, "loss": loss, "score": score.value, "low": score.low, "high": score.high}
        row |= {**score.secondary, **self.course.facts(self.history)}
        self.history.epochs.append(row)
        if epoch and (not self.history.best or score.value > self.history.epochs[self.history.best]["score"]):
            self.history.best = epoch
        if self.settings.keep == "best" and epoch and self.history.best == epoch:
            self.best_weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self._closed(self.history)
        if self.checkpoint and epoch:
            rows = self.objective.row_course
            beside = {"best": self.best_weights, "rows": rows.tensors() if rows else None}
            self.checkpoint.save(self.model, self.optimizer, self.history, self.recipe, beside)
        return row

    def _give_up(self, loss: float, step: int, epoch: int) -> None:
        what = f"the loss became {loss}" if not math.isfinite(loss) else "the gradient became infinite"
        kept = ""
        if self.out and self.checkpoint and self.checkpoint.exists():
            self.restore()
            self._finish()
            self.encoder.save(self.out)
            kept = f"; the weights after epoch {epoch - 1} are kept in {self.out}"
        of = "" if self.course.total is None else f" of {self.course.total}"
        raise UserError(
            f"training stopped: {what} at step {step + 1}{of} (epoch {epoch}){kept}; "
            f"try a learning rate under {self.settings.learning_rate:g}"
        )
