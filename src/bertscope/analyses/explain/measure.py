"""`explain`: the attributions of the words of some texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertscope.analyses.explain.corpus import corpus_words, is_of_predictions, towards_classes
from bertscope.analyses.explain.faithfulness import faithfulness
from bertscope.analyses.explain.question import ExplainConfig
from bertscope.analyses.explain.result import Part, corpus_part, explain_result, faithful_part
from bertscope.core.attributions import Attributions, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.attribution import METHODS, attribute
from bertscope.models.batches import WINDOW
from bertscope.models.encoder import Encoder
from bertscope.models.explained_window import SLOT, ExplainedWindow
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.kinds import model_output, own_output

_LEAST = 3  # words of which an order can be compared


def measure(
    model: Encoder, data: Task | Examples, config: ExplainConfig, other_seed: Encoder | None = None
) -> Result:
    asked, examples = what_is_asked(model, data)
    some = sampled(examples, config)
    found = attribute(
        model, asked, some, method=config.method, wanted=wanted_of(asked, config), nodes=config.nodes,
    )  # fmt: skip
    refuse_nothing(found, some)
    parts = []
    if config.faithful:
        parts.append(
            _faithful(asked, some, found, config, what_is_asked(other_seed, data)[0] if other_seed else None)
        )
    elif other_seed:
        raise UserError("other_seed is for faithful, which isn't asked for; give both, or leave it out")
    if config.corpus or config.null:
        parts.append(_over_corpus(asked, some, found, config))
    return explain_result(model, data, examples, some, found, config, parts, asked)


def _faithful(
    asked: ModelOutput, examples: Examples, found: Attributions, config: ExplainConfig, other: ModelOutput | None
) -> Part:
    """Whether all methods are faithful, that which was asked for first; and how alike its attributions are to those
    of other models."""
    further = [method for method in METHODS if method != found.method]
    methods = [found, *(attribute(asked.encoder, asked, examples, found.targets, method=one) for one in further)]
    lost = faithfulness(asked, examples, methods, seed=config.seed)
    return faithful_part(asked, found, lost, agreements(asked, examples, found, config, other))


def _over_corpus(asked: ModelOutput, examples: Examples, found: Attributions, config: ExplainConfig) -> Part:
    """Which words push each class, and, where a null is asked for, those of the same model with random weights."""
    how: dict[str, Any] = {"method": config.method, "nodes": config.nodes}
    chosen = bool(config.towards)
    beside = is_of_predictions(asked, chosen=chosen)
    every, random = towards_classes(asked, examples, found, chosen=chosen, **how), None
    if config.null and asked.output is not None:
        twin = model_output(asked.with_random_weights(config.seed), asked.output)
        of_twin = attribute(twin.encoder, twin, examples, every.targets, **how)
        random = corpus_words(twin, of_twin, beside=beside)
    return corpus_part(asked, corpus_words(asked, every, beside=beside), config, random)


def what_is_asked(model: Encoder, data: Task | Examples) -> tuple[ModelOutput, Examples]:
    """What the model says of the data, and the texts that it can be explained of, with the notes on them."""
    if isinstance(data, Examples):
        return own_output(model, pairs=data.pair is not None), data
    task = data.asked_of(model)
    return model_output(model, task.output), Examples.of(task)


def sampled(examples: Examples, config: ExplainConfig) -> Examples:
    """At most as many as are wanted, in their order."""
    order = np.argsort(hashed(examples.ids, config.seed), kind="stable")[: config.sample]
    return examples.take(np.sort(order))


def wanted_of(asked: ModelOutput, config: ExplainConfig) -> Wanted:
    """What a user asks for, as places."""
    if config.word and not asked.says_of_words:
        raise UserError(f"{asked.encoder.name} says nothing of single words; leave out word={config.word}")
    label = asked.place_of(config.towards) if config.towards else None
    return Wanted(label, config.word - 1 if config.word else None, config.words == "all")


def refuse_nothing(found: Attributions, examples: Examples) -> None:
    """Refuse texts of which nothing can be explained."""
    if len(found):
        return
    if not any(text.strip() for text in examples.text):
        raise UserError("there is nothing to explain: the text is empty; give one with words")
    raise UserError(
        "there is nothing to explain: no text has both a word and a prediction (an entity, an answer, the word or "
        "candidate that was asked for); give other texts, or words=all for tags"
    )


def agreements(
    asked: ModelOutput, examples: Examples, found: Attributions, config: ExplainConfig, other: ModelOutput | None
) -> dict[str, np.ndarray]:
    """How alike the sizes of a target's attributions are [t], by Spearman's correlation: to those of the same model
    with random weights, those of two such models to each other, and to those of a model of another training seed; NaN
    where there is nothing to be had.

    A word of several pieces counts with the mean of them: otherwise long words would be strong in all models alike.
    No bar is set: what is much or little here nobody knows.
    """
    pieces = pieces_of(asked, examples, found)

    def sizes(of: ModelOutput) -> np.ndarray:
        how: dict[str, Any] = {"method": config.method, "nodes": config.nodes, "most_nodes": config.nodes}
        again = attribute(of.encoder, of, examples, found.targets, **how)  # an order of sizes needs no more nodes
        if not np.array_equal(again.starts, found.starts) or again.text != found.text:
            raise UserError(
                f"{of.encoder.name} reads other words than {asked.encoder.name}; give a model with the same tokenizer"
            )
        return np.abs(again.values) / pieces

    own, known = np.abs(found.values) / pieces, dict[str, np.ndarray]()
    if asked.output is not None:
        twins = [asked.with_random_weights(config.seed + draw) for draw in range(2)]
        one, two = (sizes(model_output(twin, asked.output)) for twin in twins)
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
