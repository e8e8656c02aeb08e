"""Do explanations depend on what was learned? The sizes of a text's attributions beside those of the same model with
random weights, those of two such models beside each other, and those of a model of another training seed.

A word of several pieces counts with the mean of its pieces: otherwise long words would be strong in all models alike.
No bar is set: what is high or low here nobody knows.
"""

from __future__ import annotations

import numpy as np

from bertscope.core.attributions import Attributions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.attribution import Method, attribute
from bertscope.models.batches import WINDOW
from bertscope.models.explained_window import SLOT, ExplainedWindow
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.kinds import model_output

_LEAST = 3  # words of which an order can be compared


def agreements(
    asked: ModelOutput, examples: Examples, found: Attributions, method: Method, nodes: int, *, seed: int,
    other: ModelOutput | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """[t] each: Spearman's correlation of the sizes of a target's attributions, NaN where there is none to be had."""
    pieces = pieces_of(asked, examples, found)

    def sizes(of: ModelOutput) -> np.ndarray:
        again = attribute(of.encoder, of, examples, found.targets, method=method, nodes=nodes)
        if not np.array_equal(again.starts, found.starts) or again.text != found.text:
            raise UserError(
                f"{of.encoder.name} reads other words than {asked.encoder.name}; give a model with the same tokenizer"
            )
        return np.abs(again.values) / pieces

    own, known = np.abs(found.values) / pieces, dict[str, np.ndarray]()
    if asked.output is not None:
        one, two = (sizes(model_output(asked.with_random_weights(seed + draw), asked.output)) for draw in range(2))
        known["random_weights"] = spearman(own, one, found.owner, len(found))
        known["two_random"] = spearman(one, two, found.owner, len(found))
    if other is not None:
        known["other_seed"] = spearman(own, sizes(other), found.owner, len(found))
    return known


def pieces_of(asked: ModelOutput, examples: Examples, found: Attributions) -> np.ndarray:
    """[word]: how many tokens of it are read."""
    pieces = np.zeros(len(found.values))
    targets = found.targets.example
    for first in range(0, len(examples), WINDOW):
        window = ExplainedWindow.of(asked, examples, first, min(first + WINDOW, len(examples)))
        example = np.repeat(window.rows.example, window.rows.tokens.lengths)
        slot = window.rows.marks[SLOT] - 1
        counts = np.bincount((window.words.starts[example] + slot)[slot >= 0], minlength=window.words.starts[-1])
        at = np.flatnonzero(window.holds(targets)[found.owner])
        place = at - found.starts[found.owner[at]]
        pieces[at] = counts[window.words.starts[targets[found.owner[at]] - first] + place]
    return pieces


def spearman(one: np.ndarray, other: np.ndarray, owner: np.ndarray, targets: int) -> np.ndarray:
    """[t]: the rank correlation of the values of each target's words; NaN of fewer than three, and of equal ones."""
    counts = np.bincount(owner, minlength=targets)
    ranks = [_ranks(values, owner) for values in (one, other)]
    centred = [each - (np.bincount(owner, each, targets) / np.maximum(counts, 1))[owner] for each in ranks]
    product = np.bincount(owner, centred[0] * centred[1], targets)
    spread = np.sqrt(np.prod([np.bincount(owner, each**2, targets) for each in centred], axis=0))
    known = (counts >= _LEAST) & (spread > 0)
    return np.divide(product, spread, out=np.full(targets, np.nan), where=known)


def _ranks(values: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Each value's rank among its owner's, but for what is the same for all of these; equal ones share theirs."""
    order = np.lexsort((values, owner))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(values[order]) != 0) | (np.diff(owner[order]) != 0)
    group = np.cumsum(new) - 1
    mean = np.bincount(group, np.arange(len(order))) / np.bincount(group)
    ranks = np.empty(len(order))
    ranks[order] = mean[group]
    return ranks
