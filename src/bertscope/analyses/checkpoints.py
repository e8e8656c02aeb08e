"""What the questions about attention are asked of: one checkpoint or several side by side, and a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder


def open_checkpoints(models: Encoder | str | Sequence[Encoder | str]) -> dict[str, Encoder]:
    """The encoders by the names that the tables call them: their own, numbered where two have the same."""
    from bertscope.models.encoder import Encoder
    from bertscope.models.load import load

    listed = [models] if isinstance(models, (str, Encoder)) else models
    encoders = [load(model) if isinstance(model, str) else model for model in listed]
    named = dict(zip(distinct_names(encoder.name for encoder in encoders), encoders, strict=True))
    first, layers = next((name, encoder.n_layers) for name, encoder in named.items())
    for name, encoder in named.items():
        if not any(encoder.head_counts):
            raise UserError(f"{name} has no heads left: it has no attention to look at")
        if encoder.n_layers != layers:
            raise UserError(
                f"{first} has {layers} layers and {name} {encoder.n_layers}: they can't be read side by side; "
                "ask about one at a time"
            )
    return named


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names, numbered where several are the same."""
    seen: list[str] = []
    for plain in names:
        name, number = plain, 2
        while name in seen:
            name, number = f"{plain} ({number})", number + 1
        seen.append(name)
    return seen


def subject(names: Sequence[str], examples: Examples, *, weighted: bool) -> dict[str, str]:
    """What a result says that it is about."""
    about = {"model": " and ".join(names)} | ({"task": examples.name} if examples.name else {})
    return about | ({"attention": "norm-weighted"} if weighted else {})


def over_half(draws: np.ndarray) -> np.ndarray:
    """The share of heads above a half in draws [1 + repeats, head]; NaN where a resample holds no text."""
    import numpy as np

    return np.where(np.isnan(draws).all(1), np.nan, (draws > 0.5).mean(1))


def tidy(axes: Mapping[str, Sequence[Any]], **values: np.ndarray) -> pd.DataFrame:
    """Arrays that have these axes as a table: a row for each cell, a column for each axis and each array."""
    import pandas as pd

    table = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False)
    return table.assign(**{name: value.ravel() for name, value in values.items()})
