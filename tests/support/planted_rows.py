"""Made-up results about rows, of questions that are declared here: what the page's rows and row cards are held to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from bertscope.core import registry
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.registry import Entry
from bertscope.core.result import Result
from bertscope.core.row_card import RowFact
from bertscope.core.step import Root, Step
from planted_page import HOSTILE, id_of, models
from stored_steps import put_step


@dataclass(frozen=True)
class NoConfig:
    """Nothing to set."""


TEXT = RowFact("rows", "text", "text", shown="text", beside={"pair": "second text"})
GOLD = RowFact("rows", "gold", "label", of_row=True, chosen_by=True, sorted_by=True)
CARDS = {
    "mistakes": (
        TEXT,
        GOLD,
        RowFact("rows", "predicted", "prediction", listed=True),
        RowFact("rows", "p", "its probability", listed=True, sorted_by=True, ends=("least sure", "surest")),
        RowFact("rows", "right", "prediction is", chosen_by=True, called={True: "right", False: "wrong"},
                wrong=(False,)),
        RowFact("rows", "loss", "loss", sorted_by=True),
        RowFact("row_slices", "slice", "slices", shown="list", chosen_by=True),
        RowFact("neighbours", "text", "most similar training rows", shown="list",
                beside={"gold": "label", "similarity": "similarity", "other": "row"}),
    ),
    "duel": (
        TEXT,
        GOLD,
        RowFact("rows", "outcome", "from A to B", listed=True, chosen_by=True, wrong=("broken",)),
        RowFact("rows", "predicted_a", "prediction of A", beside={"p_a": "p"}),
        RowFact("rows", "predicted_b", "prediction of B", beside={"p_b": "p"}),
    ),
    "reasons": (
        RowFact("targets", "of", "what is explained", by=("target",), beside={"whole": "value", "gap": "gap"}),
        RowFact("words", "text", "words for and against", shown="words", strength="attribution", by=("target",)),
    ),
}  # fmt: skip
LINES = {"mistakes": "Which rows are wrong?", "duel": "Which rows change?", "reasons": "Which words did it?"}


def declare(patch: pytest.MonkeyPatch) -> None:
    """Make the questions known."""
    for name, facts in CARDS.items():
        module = ModuleType(f"planted.{name}")
        words = {"outcome": {"both_right": "both right", "both_wrong": "both wrong"}}
        question = Question(
            f"planted.{name}.question", "Made up.", config=NoConfig, inputs={"model": MODEL, "task": TASK}, version=1,
            main="n", cite="none", row_card=facts, words=words,
        )  # fmt: skip
        setattr(module, name, question)
        patch.setitem(sys.modules, module.__name__, module)
        patch.setitem(registry.QUESTIONS, name, Entry(module.__name__, LINES[name], "parts"))


def put(
    store: Path, result: Result, *, model: str = "pocket", task: str = "demo/sentiment", data: str = "1" * 16, **read
) -> Path:
    inputs = {"model": Root("model", model, id_of(model)), "task": Root("task", task, data, read)}
    return put_step(store, Step(result.question, result.version, {}, inputs), result)


def about(model: str, task: str) -> dict:
    return {"models": models(model), "subject": {"task": task}}


@dataclass(frozen=True)
class Planted:
    """Rows of which everything is known."""

    text: list[str]
    gold: list[str]
    before: list[str]
    after: list[str]
    p: list[float]
    prefix: str = "test"

    @property
    def ids(self) -> list[str]:
        return [f"{self.prefix}:{row}" for row in range(1, len(self.text) + 1)]

    def mistakes(self, *, model: str = "pocket", task: str = "demo/sentiment", slices: bool = True) -> Result:
        right = [one == other for one, other in zip(self.after, self.gold, strict=True)]
        loss = -np.log(np.where(right, self.p, 1 - np.array(self.p)))
        rows = pd.DataFrame({"row": self.ids, "text": self.text, "gold": self.gold, "predicted": self.after,
                             "p": self.p, "loss": loss, "right": right})  # fmt: skip
        long = [("long" if len(text) > 30 else "short") for text in self.text]
        odd = [(id, "odd rows") for place, id in enumerate(self.ids) if place % 2 == 0]
        groups = pd.DataFrame([*zip(self.ids, long, strict=True), *odd], columns=["row", "slice"])
        near = pd.DataFrame({
            "row": np.repeat(self.ids, 2), "rank": [1, 2] * len(self.ids), "other": "train:7", "gold": "positive",
            "text": [f"like {text[:60]}" for text in self.text for _ in range(2)],
            "similarity": [0.9, 0.8] * len(self.ids),
        })  # fmt: skip
        tables = {"rows": rows, "neighbours": near} | ({"row_slices": groups} if slices else {})
        return Result("mistakes", 1, tables, **about(model, task))

    def duel(self, *, model: str = "pocket", task: str = "demo/sentiment") -> Result:
        rows = pd.DataFrame({"row": self.ids, "text": self.text, "gold": self.gold, "predicted_a": self.before,
                             "predicted_b": self.after, "p_a": 0.5, "p_b": self.p})  # fmt: skip
        first, second = rows["predicted_a"] == rows["gold"], rows["predicted_b"] == rows["gold"]
        names = {(True, True): "both_right", (True, False): "broken", (False, True): "fixed"}
        rows["outcome"] = [names.get(pair, "both_wrong") for pair in zip(first, second, strict=True)]
        return Result("duel", 1, {"rows": rows}, **about(model, task))

    def reasons(self, first: int, *, model: str = "pocket", task: str = "demo/sentiment") -> Result:
        """Of the first rows, every word; the first word of a text is for it, the last against."""
        words, targets = [], []
        for id, text in zip(self.ids[:first], self.text[:first], strict=True):
            said = text.split()
            strengths = np.linspace(1, -0.5, len(said))
            words += [(id, 1, place + 1, word, strengths[place]) for place, word in enumerate(said)]
            targets.append((id, 1, "the class positive", 1.25, 0.0, 0.001, False, 32))
        columns = ["row", "target", "of", "whole", "baseline", "gap", "missed", "nodes"]
        tables = {"targets": pd.DataFrame(targets, columns=columns),
                  "words": pd.DataFrame(words, columns=["row", "target", "word", "text", "attribution"])}  # fmt: skip
        return Result("reasons", 1, tables, **about(model, task))

    def flips(self, units: dict[str, list[str]], *, model: str = "pocket", task: str = "demo/sentiment") -> Result:
        """By row, the parts without which it is another; every head is known."""
        lines = [(row, unit) for row, of_row in units.items() for unit in of_row]
        heads = pd.DataFrame([(layer, head) for layer in (1, 2) for head in (1, 2, 3)], columns=["layer", "head"])
        effects = heads.assign(kind="head", effect=0.0, low=0.0, high=0.0)
        return Result("ablate", 5, {"effects": effects, "flips": pd.DataFrame(lines, columns=["row", "unit"])},
                      **about(model, task))  # fmt: skip


def few_rows() -> Planted:
    """Ten: the third is hostile, the fourth goes from right to left, the fifth is one very long word."""
    texts = [
        "a good film about a house", "a bad film", HOSTILE, "فيلم جيد عن بيت", "un" + "believ" * 40 + "able",
        "never was a road so long and so old, she said to him", "fine", "it was\n\tnot \x07 good", "dull",
        "very dull",
    ]  # fmt: skip
    gold = ["positive", "negative"] * 5
    before = ["positive"] * 10  # wrong in every second row
    after = ["positive", "negative", "negative", "positive", "positive", "negative", "positive", *["negative"] * 3]
    p = [0.99, 0.95, 0.52, 0.51, 0.93, 0.97, 0.9, 0.85, 0.6, 0.7]
    return Planted(texts, gold, before, after, p)


def many_rows(n: int = 10_000, words: int = 22) -> Planted:
    """So many that nothing may be done for each of them on the page, of about the length of reviews."""
    generator = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = ["".join(generator.choice(letters, generator.integers(2, 10))) for _ in range(20_000)]
    weights = 1 / np.arange(1, len(vocabulary) + 1)  # as words are: few come often
    drawn = generator.choice(vocabulary, (n, words), p=weights / weights.sum())
    texts = [" ".join(row[: generator.integers(5, words)]) for row in drawn]
    gold, before, after = (generator.choice(["positive", "negative"], n).tolist() for _ in range(3))
    return Planted(texts, gold, before, after, (0.5 + generator.random(n) / 2).tolist())
