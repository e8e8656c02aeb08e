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
from bertscope.models.outputs.base import put
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
    found, truncated = None, 0
    with measuring([encoder]), torch.inference_mode(), asked.sparing(), progress("predicting", len(examples)) as bar:
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
    return Predictions(examples.ids, found, encoder.labels, truncated)
