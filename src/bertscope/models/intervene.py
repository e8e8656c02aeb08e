"""What comes of a model when a layer's output is changed: how it scores, or how badly it guesses masked words.

A change meets the tokens of words; special tokens stay as they are. A change of layer k's states leaves the layers up
to k as they are. So each batch is run once in full, and for each change the layers up to its own return what they
returned then, and what comes next gets that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed, to_unit
from bertscope.core.masking import SHARE as MASKED
from bertscope.core.output import Output
from bertscope.core.predictions import Judged
from bertscope.core.progress import progress
from bertscope.models.batches import Batch, batches
from bertscope.models.encoder import Encoder
from bertscope.models.families import descend
from bertscope.models.finite_pass import measuring
from bertscope.models.judge import Judging
from bertscope.models.masked_words import guesses
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.kinds import model_output
from bertscope.models.replay import Take, recorded, replayed, stand_in
from bertscope.models.taps import Kept, Tap, tapped


@dataclass(frozen=True)
class Change:
    layer: int
    """After which layer: 0 is the embeddings' output."""
    of: Callable[[Tensor], Tensor]
    """From its states [batch, token, hidden] to what comes next gets, where a token isn't special."""

    def __call__(self, states: Tensor, special: Tensor) -> Tensor:
        return torch.where(special[..., None], states, self.of(states))


@dataclass(frozen=True)
class MaskedLosses:
    sums: np.ndarray
    """[change, example]: the loss in nats, added up over the example's masked tokens."""
    counts: np.ndarray
    """[example]: how many tokens were masked."""
    truncated: int
    """How many texts are longer than the model reads, and were truncated."""


def judge_with(encoder: Encoder, output: Output, examples: Examples, changes: Sequence[Change | None]) -> Judged:
    """The examples scored with each change; None is the model as it is. Others are compared with the first."""
    asked = model_output(encoder, output)
    judging = Judging(asked, examples, len(changes))
    run_with(asked, examples, changes, judging.take, gold=True)
    return judging.judged()


def run_with(
    asked: ModelOutput, examples: Examples, changes: Sequence[Change | None], take: Take, *, gold: bool = False
) -> None:
    """Let `take` have each batch, and what the model says of it with each change."""
    encoder = asked.encoder
    with _running(encoder, len(examples) * len(changes)) as bar, asked.sparing():
        for batch in asked.batches(examples, gold=gold):
            take(batch, _changed(encoder, partial(asked.run, batch), batch.special, changes))
            bar.advance(len(batch.examples) * len(changes))


def masked_losses(
    encoder: Encoder, examples: Examples, changes: Sequence[Change | None], *, seed: int = 0
) -> MaskedLosses:
    """How badly a masked language model guesses masked tokens, with each change.

    15% of the tokens, special ones apart, are replaced by [MASK], all of them; which ones is a hash of the example's
    id and the token's place, so that every change is measured on the same.
    """
    if encoder.task_head != "masked-lm":
        raise UserError(f"{encoder.name} doesn't guess masked words (it is: {encoder.task_head}); give one that does")
    keys, mask_id = hashed(examples.ids, seed), encoder.tokenizer.mask_token_id
    sums, counts, truncated = np.zeros((len(changes), len(examples))), np.zeros(len(examples)), 0
    with _running(encoder, len(examples) * len(changes)) as bar:
        for batch in _read(encoder, examples):
            masked = _chosen(batch, keys).to(encoder.device)
            words = batch.inputs["input_ids"]
            row, gold = masked.nonzero()[:, 0], words[masked]
            counts[batch.rows] = masked.sum(1).cpu().numpy()
            inputs = batch.inputs | {"input_ids": words.masked_fill(masked, mask_id)}
            run = partial(guesses, encoder, inputs, masked)
            for place, logits in enumerate(_changed(encoder, run, batch.special, changes)):
                losses = cross_entropy(logits.float(), gold, reduction="none").double()
                total = torch.zeros(len(batch), dtype=torch.double, device=losses.device)
                sums[place, batch.rows] = total.index_add_(0, row, losses).cpu().numpy()
                bar.advance(len(batch))
            truncated += batch.truncated
    return MaskedLosses(sums, counts, truncated)


@contextmanager
def _running(encoder: Encoder, work: int) -> Iterator[Any]:
    with (
        measuring([encoder]),
        torch.inference_mode(),
        tapped(encoder, Tap()),
        progress("changing layers", work) as bar,
    ):
        yield bar


def _read(encoder: Encoder, examples: Examples) -> Iterator[Batch]:
    return batches(
        encoder.tokenizer, examples, max_length=encoder.max_length, tokens=default_budget(encoder),
        device=encoder.device,
    )  # fmt: skip


def _changed(
    encoder: Encoder, run: Callable[[], Any], special: Tensor, changes: Sequence[Change | None]
) -> Iterator[Any]:
    """What a run of the model gives with each change."""
    with recorded(encoder) as kept:
        plain = run()
    for change in changes:
        if change is None:
            yield plain
            continue
        with _made(encoder, change, special, kept):
            found = run()
        yield found


@contextmanager
def _made(encoder: Encoder, change: Change, special: Tensor, kept: Sequence[Kept]) -> Iterator[None]:
    """The model with a change, in the block. What is changed is what a store of hidden states has of that layer: what
    the next one gets; and behind the last one what the encoder puts out, through the norm that closes some families.
    """
    closing, below = encoder.family.closing, list(kept[: change.layer])
    with ExitStack() as undo:
        if change.layer < encoder.n_layers:
            undo.enter_context(tapped(encoder, _NextInput(change, special)))
        elif closing:
            module = descend(encoder.model.base_model, closing)
            stand_in(module, partial(_then, module.forward, change, special), undo)
        else:
            assert below[-1].output is not None
            below[-1] = replace(below[-1], output=change(below[-1].output, special))
        undo.enter_context(replayed(encoder, below, change.layer))
        yield


def _then(compute: Callable[..., Tensor], change: Change, special: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return change(compute(*args, **kwargs), special)


class _NextInput(Tap):
    """A change of what the layer above gets."""

    def __init__(self, change: Change, special: Tensor) -> None:
        self._change, self._special = change, special

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        return self._change(inputs, self._special) if layer == self._change.layer else inputs


def _chosen(batch: Batch, keys: np.ndarray) -> Tensor:
    """[row, token]: which tokens are masked."""
    place = np.arange(batch.special.shape[1], dtype=np.uint64)
    luck = to_unit(mixed(keys[batch.rows][:, None], place))
    return torch.from_numpy(luck < MASKED) & ~batch.special.cpu()
