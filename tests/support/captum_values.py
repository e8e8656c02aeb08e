"""captum's integrated gradients of a model with known weights, written down: it isn't among what tests install, since
it needs a drawing library. `python tests/support/captum_values.py [FOLDER]` asks it anew, from a folder if it is in
one: pip install --no-deps --target FOLDER captum."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
VALUES = HERE.parents[1] / "fixtures" / "captum_integrated.json"
TEXTS = (
    "the old house by the river was never cold",
    "good",
    "an unbelievably long-winded and heartless film, said everybody",
    "he said it was bad , but the food was good",
)
NODES = (5, 16)


def own_tokenizer() -> Any:
    """With the pieces of `TEXTS` alone, each under the number it had when captum was asked: weights of a formula say
    something else of other numbers, and pocket's may change."""
    from transformers import BertTokenizerFast

    kept = json.loads(VALUES.read_text(encoding="utf-8"))
    known = {number: piece for piece, number in kept["pieces"].items()}
    every = {known.get(number, f"[unused{number}]"): number for number in range(kept["vocabulary"])}
    return BertTokenizerFast(vocab=every, do_lower_case=True)


def captum_values(attr: ModuleType, encoder: Any) -> dict[str, list[float]]:
    """By the number of nodes: the attributions of all words of `TEXTS`."""
    from benchmarks.captum_plain import integrated

    return {
        str(nodes): np.round(integrated(attr, encoder.model, encoder.tokenizer, TEXTS, nodes), 7).tolist()
        for nodes in NODES
    }


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]
    from bags import plain_bert
    from benchmarks.captum_plain import find_captum

    found = find_captum(Path(sys.argv[1]) if sys.argv[1:] else None)
    assert found is not None, "captum isn't there"
    kept = json.loads(VALUES.read_text(encoding="utf-8"))
    kept |= captum_values(found, plain_bert(own_tokenizer()))
    VALUES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
