"""`explain`: the attributions of the words of some texts."""

from __future__ import annotations

import numpy as np

from bertscope.analyses.explain.parts import corpus_part, faithful_part
from bertscope.analyses.explain.question import ExplainConfig
from bertscope.analyses.explain.result import explain_result
from bertscope.core.attributions import Attributions, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.attribution import attribute
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.kinds import model_output, own_output


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
        other = what_is_asked(other_seed, data)[0] if other_seed else None
        parts.append(faithful_part(asked, some, found, config, other))
    elif other_seed:
        raise UserError("other_seed is for faithful, which isn't asked for; give both, or leave it out")
    if config.corpus or config.null:
        parts.append(corpus_part(asked, some, found, config))
    return explain_result(model, data, examples, some, found, config, parts)


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
    label = asked.place_of(config.of) if config.of else None
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
