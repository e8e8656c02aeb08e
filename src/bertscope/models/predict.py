"""A model's outputs for every example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW
from bertscope.models.finite_pass import measuring
from bertscope.models.outputs.base import ModelOutput, put
from bertscope.models.outputs.kinds import model_output

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def predict(
    encoder: Encoder,
    examples: Examples,
    output: Output | None = None,
    *,
    tokens: int | None = None,
    window: int = WINDOW,
) -> Predictions:
    """See `Encoder.predict`."""
    asked = model_output(encoder, output)
    with measuring([encoder]), asked.sparing():
        return predicted(asked, examples, tokens=tokens, window=window)


def predicted(
    asked: ModelOutput, examples: Examples, *, tokens: int | None = None, window: int = WINDOW
) -> Predictions:
    """What is kept of what a model says, whatever runs it."""
    found, truncated = None, 0
    with torch.inference_mode(), progress("predicting", len(examples)) as bar:
        for batch in asked.batches(examples, tokens=tokens, window=window):
            outputs = asked.outputs(asked.run(batch), batch)
            outputs = outputs.float() if outputs.is_floating_point() else outputs
            if found is None:
                found = np.full(
                    (len(examples), *asked.width(examples)), asked.padding, dtype=outputs.cpu().numpy().dtype
                )
            put(found, batch.examples, outputs.cpu().numpy())
            truncated += batch.truncated
            bar.advance(len(batch.examples))
    if found is None:
        found = np.zeros((0, *asked.width(examples)), dtype=np.float32)
    return Predictions(examples.ids, found, asked.encoder.labels, truncated)
