"""What else can be asked of explanations, each a part of the answer: whether they are faithful, and which words push
each class over a corpus."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bertscope.analyses.explain.agreement import agreements
from bertscope.analyses.explain.corpus import LEAST, MOST_CLASSES, corpus_words, null_table, towards_classes
from bertscope.analyses.explain.faithfulness import (
    PERCENT,
    RANDOM,
    Faithfulness,
    faithfulness,
    faithfulness_table,
    over_texts,
)
from bertscope.analyses.explain.question import ExplainConfig
from bertscope.core import null_panel
from bertscope.core.attributions import Attributions
from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.models.attribution import METHODS, attribute
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.kinds import model_output

_SHOWN = 10  # words of a class that the figure draws; half of them where there are many classes
_FEW = 4


@dataclass(frozen=True)
class Part:
    tables: dict[str, pd.DataFrame]
    headline: list[Number]
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def faithful_part(
    asked: ModelOutput, examples: Examples, found: Attributions, config: ExplainConfig, other: ModelOutput | None
) -> Part:
    """Of all methods, with what was found by the one that was asked for first."""
    further = [method for method in METHODS if method != found.method]
    methods = [found, *(attribute(asked.encoder, asked, examples, found.targets, method=one) for one in further)]
    lost = faithfulness(asked, examples, methods, seed=config.seed)
    table = faithfulness_table(lost)
    alike = agreements(asked, examples, found, config.method, config.nodes, seed=config.seed, other=other)
    unit = "probability" if asked.has_probability else "change of the score"
    numbers = [_number(one["measure"], one["value"], one["low"], one["high"], one["n"], unit,
                       method=one["method"], how=one["how"])
               for one in table[table["method"] == found.method].to_dict("records")]  # fmt: skip
    rows = []
    for between, each in alike.items():
        value, low, high, n = over_texts(each, found.targets.example)
        rows.append({"between": between, "correlation": value, "low": low, "high": high, "n": n})
        numbers.append(_number("agreement", value, low, high, n, "Spearman", between=between))
    figure = Figure(
        "intervals", "faithfulness", x="value", y="method", facet="measure", color="how", low="low", high="high",
        middle=0.0, key="faithfulness", title="Are the explanations faithful?",
        caption="What the prediction loses, beyond random orders of the words: comprehensiveness, without the words "
        "of the highest attributions, where more is better; sufficiency, with these alone, where less is better. "
        "95% bootstrap intervals over texts.", labels={"value": f"{unit}, beyond random words"},
    )  # fmt: skip
    agreement = pd.DataFrame(rows, columns=["between", "correlation", "low", "high", "n"])
    tables = {"faithfulness": table, "agreement": agreement}
    return Part(tables, [one for one in numbers if one is not None], [figure], _notes_on(lost, found, asked))


def _number(key: str, value: float, low: float, high: float, n: int, unit: str, **of: str) -> Number | None:
    if np.isnan(value):
        return None
    known = not np.isnan(low)
    return Number(key, value, low if known else None, high if known else None, n, unit, of=of)


def _notes_on(lost: Faithfulness, found: Attributions, asked: ModelOutput) -> list[str]:
    passes = ", ".join(
        f"{count:,} with words {how}d".replace("maskd", "masked") for how, count in lost.passes.items()
    )
    shares = ", ".join(map(str, PERCENT))
    notes = [f"faithfulness: {shares}% of the words, {RANDOM} random orders shared by all methods; passes: {passes}"]
    if left := len(found) - len(lost.example):
        notes.append(f"{left:,} predictions have no word that could be taken away, and say nothing of faithfulness")
    if not asked.words_can_go:
        notes.append("words are only masked: without the deleted ones, what is explained would be found elsewhere")
    if asked.output is None:
        notes.append("no model with random weights stands beside it: only a task's labels say what is on top of one")
    return notes


def corpus_part(asked: ModelOutput, examples: Examples, found: Attributions, config: ExplainConfig) -> Part:
    """The words that push each class; with the null panel and the reference, if these are asked for."""
    chosen = bool(config.of)
    all_classes = towards_classes(asked, examples, found, config.method, config.nodes, chosen=chosen)
    words = corpus_words(asked, all_classes)
    table = words.table()
    numbers, tables = [Number("pushing_words", int(words.found().sum()), n=len(words.word))], {"corpus_words": table}
    notes = [_on_classes(asked, chosen=chosen)]
    if not len(table):
        notes.append(f"no word is in {LEAST} of the texts that were explained: raise sample")
    if config.null:
        tables[null_panel.TABLE] = null_table(words, config.seed)
        if asked.output is not None:
            twin = model_output(asked.with_random_weights(config.seed), asked.output)
            again = attribute(
                twin.encoder, twin, examples, all_classes.targets, method=config.method, nodes=config.nodes
            )
            random = corpus_words(twin, again)
            means = random.table().rename(columns={"mean": "random"})[["class", "word", "random"]]
            tables["corpus_words"] = table = table.merge(means, on=["class", "word"], how="left")
            numbers.append(Number("pushing_words_random", int(random.found().sum()), n=len(random.word)))
    tables["corpus_words"] = table.assign(shown=_first(table))
    figure = Figure(
        "intervals", "corpus_words", x="mean", y="word", color="class", low="low", high="high", middle=0.0,
        where={"shown": True}, key="corpus_words", title="The words that push each class",
        caption=f"The mean attribution of words in {LEAST} texts or more, of those that are for a class the ones of "
        "which that is surest (by the end of the interval that is nearer to 0). 95% intervals over texts.",
        labels={"mean": "mean attribution"},
    )  # fmt: skip
    return Part(tables, numbers, [figure] if tables["corpus_words"]["shown"].any() else [], notes)


def _first(table: pd.DataFrame) -> np.ndarray:
    """[row]: whether it is one of the words that push its class most surely."""
    pushes = table["safe"] > 0
    place = pushes.groupby(table["class"], observed=True).cumsum() if len(table) else pushes
    most = _SHOWN if table["class"].nunique() <= _FEW else _SHOWN // 2
    return (pushes & (place <= most)).to_numpy(dtype=bool)


def _on_classes(asked: ModelOutput, *, chosen: bool) -> str:
    if chosen:
        return "corpus words: attributions for the label that was asked for, in every text"
    if asked.says_of_words or len(asked.pushed) > MOST_CLASSES:
        return "corpus words: a label's are of the texts in which it is predicted"
    if asked.mirrored:
        return "corpus words: every text says something of both labels: what is for one is against the other"
    return "corpus words: each label was explained in every text, whether it is predicted there or not"
