"""What the questions about attention are asked of: one checkpoint or several side by side, and a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder


def open_checkpoints(models: Encoder | str | list[Encoder | str]) -> dict[str, Encoder]:
    """The encoders by the names that the tables call them: their own, numbered where two have the same."""
    from bertscope.models.load import load

    named: dict[str, Encoder] = {}
    for model in models if isinstance(models, list) else [models]:
        encoder = load(model) if isinstance(model, str) else model
        name, number = encoder.name, 2
        while name in named:
            name, number = f"{encoder.name} ({number})", number + 1
        named[name] = encoder
    return named


def open_examples(examples: Examples | str) -> tuple[Examples, dict[str, str]]:
    """The corpus, and what a result's subject says of it."""
    if not isinstance(examples, str):
        return examples, {}
    from bertscope.data.corpus import read_examples

    return read_examples(examples), {"corpus": examples}


def tidy(axes: Mapping[str, Sequence[Any]], **values: np.ndarray) -> pd.DataFrame:
    """Arrays that have these axes as a table: a row for each cell, a column for each axis and each array."""
    import pandas as pd

    table = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False)
    return table.assign(**{name: value.ravel() for name, value in values.items()})
