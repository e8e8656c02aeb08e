"""One reading of the texts by many models, a few of them in memory at a time: each window is read by all in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW, windows
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.observe import LayerObserver, Passed, WaitingPlace, budget, passed, reads_layers
from bertscope.models.stage import Stage


@dataclass(frozen=True)
class Turn:
    """Encoders that see a batch together, and who looks at them."""

    encoders: Sequence[Encoder]
    observer: LayerObserver


def observe_in_turns(
    turns: Sequence[Turn],
    examples: Examples,
    stage: Stage,
    *,
    window: int = WINDOW,
    long: Literal["truncated", "left_out"] = "truncated",
    label: str = "reading",
) -> Passed:
    """Let each turn's encoders, which all cut texts alike, run over the examples once; every observer sees the
    batches that it would see alone, in their order. Weights change places once for each window and turn."""
    first, needs = turns[0].encoders[0], frozenset[str]().union(*(turn.observer.needs for turn in turns))
    places: list[WaitingPlace] = []
    readers = [reads_layers(turn.encoders, examples, turn.observer, places) for turn in turns]
    seen = truncated = 0
    with progress(label, len(examples) * len(turns)) as bar:
        for some in windows(
            first.tokenizer, examples, max_length=first.max_length, window=window, long=long, **budget(first, needs)
        ):
            for turn, read in zip(turns, readers, strict=True):
                with stage.on(turn.encoders), measuring(turn.encoders), torch.inference_mode():
                    for batch in some:
                        read(batch)
                        bar.advance(len(batch))
            seen += sum(map(len, some.groups))
            truncated += int(sum(some.tokens.truncated[rows].sum() for rows in some.groups))
    return passed(first.name, first.max_length, len(examples), seen, truncated)
