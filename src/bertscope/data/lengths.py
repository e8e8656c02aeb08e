"""How many texts there are, and how long they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.outputs.scores import summary


def describe_lengths(examples: Examples) -> dict[str, Any]:
    """How many rows there are, and how many words they have: the source's own, or what stands between spaces."""
    if examples.words is not None:
        lengths = np.array([len(words) for words in examples.words])
    else:
        lengths = np.array([len(text.split()) for text in examples.text])
        if examples.pair is not None:
            lengths += np.array([len(text.split()) for text in examples.pair])
    return {"rows": len(examples), "words": summary(lengths)}
