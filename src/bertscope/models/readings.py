"""What a task head says of the states of each layer: as they are, or through a linear shortcut to the last ones.

A batch runs through the model once; for each reading only what is behind the last layer runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Judged
from bertscope.core.progress import progress
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.judge import Judging
from bertscope.models.layer_states import layer_states, other_last_states
from bertscope.models.outputs.base import ModelOutput, RowBatch
from bertscope.models.outputs.kinds import model_output
from bertscope.models.shortcuts import Shortcut


@dataclass(frozen=True)
class Reading:
    """One layer's states under the task head."""

    layer: int
    """0 is the embeddings' output, the last layer's are the last states."""
    through: Shortcut | None = None
    """To the last states; None where the layer's own are read, through the norm that closes the encoder, if any."""
    random: bool = False
    """Whether the states are those of the model with random weights."""


@dataclass(frozen=True, eq=False)
class Read:
    judged: Judged
    """Of the model as it is, and then of each reading."""
    log_ranks: np.ndarray | None
    """[form, example]: the base-2 logarithm of the right guess's rank, added up over the example's guesses; None of
    kinds that don't guess one of many."""
    guesses: np.ndarray
    """[example]: how many there are."""


def read_layers(
    encoder: Encoder, output: Output, examples: Examples, readings: Sequence[Reading], random: Encoder | None = None
) -> Read:
    """The examples scored by the model as it is, and by each reading."""
    asked = model_output(encoder, output)
    judging, ranks = Judging(asked, examples, 1 + len(readings)), _Ranks(asked, len(examples), 1 + len(readings))
    encoders = [encoder, *([random] if random is not None else [])]
    with ExitStack() as opened:
        opened.enter_context(measuring(encoders))
        opened.enter_context(torch.inference_mode())
        seen = [opened.enter_context(layer_states(one)) for one in encoders]
        opened.enter_context(asked.sparing())
        bar = opened.enter_context(progress(f"reading the layers of {encoder.name}", len(examples)))
        for batch in asked.batches(examples, gold=True):
            whole = asked.run(batch)
            states = [seen[0].all()]
            if random is not None:
                random.model.base_model(**batch.inputs)
                states.append(seen[1].all())
            judging.take(batch, ranks.watching(batch, _forms(asked, batch, whole, states, readings)))
            bar.advance(len(batch.examples))
    return Read(judging.judged(), ranks.sums, ranks.counts)


def _forms(
    asked: ModelOutput, batch: RowBatch, whole: Any, states: Sequence[Sequence[Tensor]], readings: Sequence[Reading]
) -> Iterator[Any]:
    """What is said of a batch by the whole model, and by each reading."""
    yield whole
    at = asked.read_tokens(batch).nonzero(as_tuple=True)
    for reading in readings:
        own = states[reading.random][reading.layer]
        if reading.through is not None:
            given = torch.zeros_like(own)  # of what isn't read
            given[at] = reading.through(own[at])
        else:
            given = own
        closed = reading.through is not None or reading.layer == asked.encoder.n_layers
        with other_last_states(asked.encoder, given, closed=closed):
            raw = asked.run(batch)
        yield raw


class _Ranks:
    """Adds up how far down the right guess stands."""

    def __init__(self, asked: ModelOutput, n: int, forms: int) -> None:
        self._asked, self._forms = asked, forms
        self.sums: np.ndarray | None = None
        self.counts = np.zeros(n)

    def watching(self, batch: RowBatch, forms: Iterator[Any]) -> Iterator[Any]:
        for form, raw in enumerate(forms):
            found = self._asked.log_ranks(raw)
            if found is not None:
                ranks, row = (each.cpu().numpy() for each in found)
                if self.sums is None:
                    self.sums = np.zeros((self._forms, len(self.counts)))
                np.add.at(self.sums[form], batch.examples[row], ranks)
                if form == 0:
                    np.add.at(self.counts, batch.examples[row], 1)
            yield raw
