"""What a model says without random parts in the place of heads: all of it, to compare ways of running it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.units import Mode, Unit
from bertscope.models.encoder import Encoder
from bertscope.models.judge import Keeping
from bertscope.models.outputs.kinds import model_output
from bertscope.models.random_part import random_parts_off
from bertscope.models.replay import run_each


def outputs_without_random_parts(
    encoder: Encoder, texts: Examples, heads: Sequence[Unit], draws: int, mode: Mode, replay: bool
) -> np.ndarray:
    """[head x draw, example, class]"""
    asked = model_output(encoder)
    with random_parts_off(encoder, heads, draws=draws, mode=mode) as changes:
        keeping = Keeping(asked, texts, len(changes))
        run_each(asked, texts, changes, keeping.take, replay=replay)
    return keeping.kept().logits
