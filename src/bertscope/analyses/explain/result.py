"""The answer of `explain`: what is explained, and what each word did for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.explain.corpus import LEAST, LEVEL, MOST_CLASSES, CorpusWords, null_table
from bertscope.analyses.explain.faithfulness import PERCENT, RANDOM, Faithfulness, faithfulness_table, over_texts
from bertscope.analyses.explain.question import ExplainConfig, explain
from bertscope.analyses.side_by_side import subject
from bertscope.core import null_panel
from bertscope.core.attributions import Attributions
from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.intervals import bootstrap_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import number_of

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.outputs.base import ModelOutput

_SHOWN = 10  # words of a class that the figure draws; half of them where there are many classes
_FEW = 4
_TAKEN = {"mask": "masked", "delete": "deleted"}


def explain_result(
    model: Encoder, data: Task | Examples, examples: Examples, some: Examples, found: Attributions,
    config: ExplainConfig, parts: Sequence[Part] = (), asked: ModelOutput | None = None,
) -> Result:  # fmt: skip
    """`some` of the examples were explained; `parts` are what else was asked."""
    targets = targets_table(found, some, asked)
    tables = {"targets": targets, "words": words_table(found, some, targets)}
    return explain.result(
        tables=tables | {name: table for part in parts for name, table in part.tables.items()},
        headline=[*_headline(found, config), *(number for part in parts for number in part.headline)],
        figures=[_texts(), *(figure for part in parts for figure in part.figures)],
        models=records([model]),
        subject=subject(examples) if isinstance(data, Examples) else {"task": data.name},
        notes=[
            *examples.notes,
            *_notes(model, examples, some, found),
            *(note for part in parts for note in part.notes),
        ],
    )


def _texts() -> Figure:
    return Figure(
        "texts", "words", x="word", y="row", side="target", facet="said", token="text", value="attribution",
        key="texts", title="The words that made each prediction",
        caption="What is explained stands before its text, with its probability and, where that is known, whether "
        "it is right. Blue underlined words speak for it, orange dotted ones against it; the stronger the colour, "
        "the nearer a word comes to the text's strongest. Point at a word, or use the arrow keys, to see its "
        "attribution.", labels={"attribution": "attribution"},
    )  # fmt: skip


def targets_table(found: Attributions, examples: Examples, asked: ModelOutput | None = None) -> pd.DataFrame:
    """A row for each target: `target` counts those of a text from 1. What is right stands there of labels, where the
    examples have them."""
    table = pd.DataFrame({
        "row": _rows(found, examples), "target": _counted(found), "of": found.explained, "whole": found.whole,
        "baseline": found.baseline, "gap": found.gap, "missed": found.missed, "nodes": found.nodes,
    })  # fmt: skip
    if not np.isnan(found.probability).all():
        table.insert(3, "probability", found.probability)
    gold = _right_labels(found, examples, asked)
    if gold is not None and asked is not None:
        names = np.array([*asked.names, ""], dtype=object)  # -1: not known
        right = pd.array(np.where(gold < 0, False, gold == found.targets.label), dtype="boolean")
        right[gold < 0] = pd.NA
        table = table.assign(gold=names[gold], right=right)
    return table


def _right_labels(found: Attributions, examples: Examples, asked: ModelOutput | None) -> np.ndarray | None:
    """[t]: the right label of each target's text, -1 where it isn't known; None of what isn't one of some labels."""
    if asked is None or asked.output is None or asked.kind != "classification" or examples.label is None:
        return None
    return asked.output.gold(examples)[found.targets.example]


def _said(row: Mapping[str, Any]) -> str:
    """What is explained, how likely it is, and whether it is right."""
    known = [f"probability {row['probability']:.2f}"] if "probability" in row else []
    if "right" in row and row["right"] is not pd.NA:
        known.append("right" if row["right"] else f"wrong: it is {row['gold']}")
    return f"{row['of']} ({', '.join(known)})" if known else str(row["of"])


def words_table(found: Attributions, examples: Examples, targets: pd.DataFrame) -> pd.DataFrame:
    """A row for each word of each target, in the order of the text; `word` counts from 1."""
    owner, said = found.owner, np.array([_said(row) for row in targets.to_dict("records")], dtype=object)
    return pd.DataFrame({
        "row": _rows(found, examples)[owner], "target": _counted(found)[owner], "word": found.word + 1,
        "text": found.text, "attribution": found.values, "of": np.array(found.explained, dtype=object)[owner],
        "said": said[owner],
    })  # fmt: skip


def _rows(found: Attributions, examples: Examples) -> np.ndarray:
    """[t]: the example's id."""
    return np.array(examples.ids, dtype=object)[found.targets.example]


def _counted(found: Attributions) -> np.ndarray:
    """[t]: which of its example's it is, from 1."""
    example = found.targets.example
    return np.arange(len(example)) - np.searchsorted(example, example) + 1


def _headline(found: Attributions, config: ExplainConfig) -> list[Number]:
    example, owner = found.targets.example, found.owner
    size = np.abs(found.values)
    total, top = np.bincount(owner, size, len(found)), np.zeros(len(found))
    np.maximum.at(top, owner, size)
    share = np.divide(top, total, out=np.full(len(found), np.nan), where=total > 0)
    texts = len(np.unique(example))
    numbers = [
        _mean("top_word_share", share, example, "share"),
        _mean("above_masked", found.whole - found.baseline, example, "logits"),
        Number("texts", texts),
        Number("targets", len(found)),
    ]
    if config.method == "integrated":
        numbers.append(Number("missed_share", float(found.missed.mean()), n=len(found), unit="share"))
    return [number for number in numbers if number is not None]


def _mean(key: str, values: np.ndarray, example: np.ndarray, unit: str) -> Number | None:
    """The mean over texts of the mean over their targets; texts in which no word did anything have no share."""
    known = ~np.isnan(values)
    kinds, text = np.unique(example[known], return_inverse=True)
    if not len(kinds):
        return None
    means = np.bincount(text, values[known]) / np.bincount(text)
    number = Number(key, float(means.mean()), n=len(means), unit=unit)
    if len(means) < 2:
        return number
    low, high = bootstrap_interval(lambda moments: moments[..., 0], means[:, None])
    return replace(number, low=low, high=high)


def _notes(model: Encoder, examples: Examples, some: Examples, found: Attributions) -> list[str]:
    notes = []
    if len(some) < len(examples):
        notes.append(f"{len(some):,} of {len(examples):,} texts are explained, chosen by a hash of their ids")
    if silent := len(some) - len(np.unique(found.targets.example)):
        without = number_of(silent, "text is", "texts are")
        notes.append(f"{without} left out: no word, or nothing that is predicted")
    if cut := int((found.unread > 0).sum()):
        words = number_of(int(found.unread.sum()), "word", "words")
        notes.append(f"{words} of {number_of(cut, 'text', 'texts')} not read by {model.name}: no attribution")
    if missed := int(found.missed.sum()):
        most = int(found.nodes.max())
        notes.append(
            f"the words of {missed:,} of {len(found):,} predictions don't add up to the whole with {most} points"
        )
    return notes


@dataclass(frozen=True)
class Part:
    """What else was asked of the explanations."""

    tables: dict[str, pd.DataFrame]
    headline: list[Number]
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def faithful_part(
    asked: ModelOutput, found: Attributions, lost: Faithfulness, alike: Mapping[str, np.ndarray]
) -> Part:
    """What is lost, and how alike (`agreement`) attributions are to those of other models, [t] each."""
    table = faithfulness_table(lost)
    unit = "probability" if asked.has_probability else "change of the score"
    numbers = [
        _number(one["measure"], one["value"], one["low"], one["high"], one["n"], unit, method=one["method"],
                how=one["how"])
        for one in table[table["method"] == found.method].to_dict("records")
    ]  # fmt: skip
    rows = []
    for between, each in alike.items():
        value, low, high, n = over_texts(each, found.targets.example)
        rows.append({"between": between, "correlation": value, "low": low, "high": high, "n": n})
        numbers.append(_number("agreement", value, low, high, n, "Spearman", between=between))
    figure = Figure(
        "intervals", "faithfulness", x="value", y="method", facet="measure", color="how", low="low", high="high",
        middle=0.0, key="faithfulness", title="Are the explanations faithful?",
        caption="What the prediction loses, beyond what it loses with words in random order. Comprehensiveness: "
        "without the words of the highest attributions, where more is better. Sufficiency: with these alone, where "
        "less is better. 95% bootstrap intervals over texts.", labels={"value": f"{unit}, beyond random words"},
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
    passes = ", ".join(f"{count:,} with words {_TAKEN[how]}" for how, count in lost.passes.items())
    shares = ", ".join(map(str, PERCENT))
    notes = [f"faithfulness: {shares}% of the words, {RANDOM} random orders shared by all methods; passes: {passes}"]
    if left := len(found) - len(lost.example):
        without = number_of(left, "prediction has", "predictions have")
        notes.append(f"{without} no word that could be taken away: nothing is said of their faithfulness")
    if not asked.words_can_go:
        notes.append("words are only masked: if they were deleted, what is explained would stand elsewhere")
    if asked.output is None:
        notes.append(
            "no model with random weights stands beside it: only a task's labels say what to put on top of one"
        )
    return notes


def corpus_part(asked: ModelOutput, words: CorpusWords, config: ExplainConfig, random: CorpusWords | None) -> Part:
    """The words that push each class, with those of random weights beside them where there are any."""
    table, numbers = words.table(), [Number("pushing_words", int(words.found().sum()), n=len(words.word))]
    notes = [_on_classes(asked, chosen=bool(config.towards))]
    if not len(table):
        notes.append(f"no word is in {LEAST} of the texts that were explained: raise sample")
    if random is not None:
        means = random.table().rename(columns={"mean": "random"})[["class", "word", "random"]]
        table = table.merge(means, on=["class", "word"], how="left")
        numbers.append(Number("pushing_words_random", int(random.found().sum()), n=len(random.word)))
    tables = {"corpus_words": table.assign(shown=_first(table))}
    if config.null:
        tables[null_panel.TABLE] = null_table(words, config.seed)
    figure = Figure(
        "intervals", "corpus_words", x="mean", y="word", color="class", low="low", high="high", middle=0.0,
        where={"shown": True}, key="corpus_words", title="The words that push each class",
        caption=f"The mean attribution of words that occur in {LEAST} texts or more. Of those that speak for a "
        "class (p < .05, corrected for all words), the surest are shown, by the end of the interval that is nearer "
        "to 0. 95% intervals over texts, not corrected.",
        labels={"mean": "mean attribution"},
    )  # fmt: skip
    return Part(tables, numbers, [figure] if tables["corpus_words"]["shown"].any() else [], notes)


def _first(table: pd.DataFrame) -> np.ndarray:
    """[row]: whether it is one of the words that push its class most surely, of those that are found to."""
    pushes = (table["safe"] > 0) & (table["p_fdr"] < LEVEL)
    place = pushes.groupby(table["class"], observed=True).cumsum() if len(table) else pushes
    most = _SHOWN if table["class"].nunique() <= _FEW else _SHOWN // 2
    return (pushes & (place <= most)).to_numpy(dtype=bool)


def _on_classes(asked: ModelOutput, *, chosen: bool) -> str:
    if asked.says_of_words:
        return (
            "corpus words: of the words that get a tag; the mean is what a word does for it beyond its share of what "
            "the other words of the text do, and a tagged word beyond those with its tag; below 0 isn't against it"
        )
    if chosen:
        return "corpus words: attributions for the label that was asked for, in every text"
    if len(asked.pushed) > MOST_CLASSES:
        return (
            "corpus words: a label's are of the texts in which it is predicted; the mean is what a word does for it "
            "beyond its share of what the words of the text do; below 0 isn't against it"
        )
    if asked.mirrored:
        return "corpus words: every text says something of both labels: what is for one is against the other"
    return "corpus words: each label was explained in every text, whether it is predicted there or not"
