"""Figures of every kind with made-up tables, and what is drawn of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.report.charts import draw, save_figure

BOTH, ONE = "in both", "in one"
CLASSES = ["vertical", "diagonal", "block"]
SHARES = {1: [0.5, 0.3, 0.2], 2: [0.1, 0.1, 0.8]}


def shares(model: str = "pocket") -> pd.DataFrame:
    rows = [(model, layer, name, x) for layer, of in SHARES.items() for name, x in zip(CLASSES, of, strict=True)]
    return pd.DataFrame(rows, columns=["model", "layer", "pattern", "share"])


def bars(**more) -> Figure:
    about = {"x": "share", "y": "layer", "color": "pattern"} | more
    return Figure("bars", "t", title="Class shares", caption="c", **about)


def layers(figure: Figure, table: pd.DataFrame) -> list[dict]:
    spec = draw(figure, table).to_dict()
    return spec.get("spec", spec)["layer"]


def svg(figure: Figure, table: pd.DataFrame, folder: Path) -> str:
    return save_figure(figure, table, folder / "figure.svg").read_text(encoding="utf-8")


def maps(**more) -> Figure:
    about = {"x": "key", "y": "query", "value": "attention", "facet": "map"} | more
    return Figure("maps", "t", title="Maps", caption="c", **about)


def cells(*matrices: np.ndarray) -> pd.DataFrame:
    """The tidy table of some maps: a row per cell."""
    sheets = []
    for number, values in enumerate(matrices, start=1):
        query, key = (at.ravel() + 1 for at in np.indices(values.shape))
        of = {"map": f"head {number} · block", "query": query, "key": key, "attention": values.ravel()}
        sheets.append(pd.DataFrame(of | {"token": np.array(["[CLS]", "the", "the", "[SEP]"] * 99)[query - 1]}))
    return pd.concat(sheets, ignore_index=True)


def walk(layers: int = 3, tokens: tuple[str, ...] = ("[CLS]", "good", "food"), **more) -> pd.DataFrame:
    rows = [
        (layer, place, token, 10.0 * layer + place, float(place)) for layer in range(layers) for place, token in
        enumerate(tokens)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["layer", "position", "token", "x", "y"]).assign(**more)


def stepped(**more) -> Figure:
    about = {"x": "x", "y": "y", "token": "token", "step": "layer", "path": "position"} | more
    return Figure("points", "t", title="Tokens", caption="c", **about)


def tree_figure(**more) -> Figure:
    about = {"token": "word", "side": "tree", "color": "edge", "facet": "sentence"} | more
    return Figure("trees", "t", x="position", y="head", title="Trees", caption="c", **about)


def tree_table(words: str = "she read the book .", sentence: str = "s1") -> pd.DataFrame:
    """she <- read -> book -> the, and the chain in which each word hangs on the one before it."""
    rows = []
    for tree, heads in (("gold", [2, 0, 4, 2, None]), ("predicted", [0, 1, 2, 3, None])):
        for place, head in enumerate(heads, start=1):
            edge = None if head is None else BOTH if {place, head} in ({1, 2}, {3, 4}) else ONE
            rows.append((sentence, tree, place, words.split()[place - 1], head, edge))
    frame = pd.DataFrame(rows, columns=["sentence", "tree", "position", "word", "head", "edge"])
    return frame.astype({"head": "Int64"})


def texts_table() -> pd.DataFrame:
    """Texts with coloured words: for and against, markup, another direction of writing, emoji, a long one."""
    hebrew = ["סרט", "טוב", "מאוד", "😀", "👩‍👩‍👧"]
    markup = ["<script>alert('x')</script>", "&amp;", "dull"]
    said = {
        ("test:1", 1, "positive"): (["a", "good", "film", ",", "not", "bad"], [0.0, 2.0, 0.3, 0.0, -0.6, -1.5]),
        ("test:2", 1, "<b>negative</b>"): (markup, [0.5, -0.1, 1.0]),
        ("test:3", 1, "positive"): (hebrew, [0.1, 2.0, 0.5, -1.0, 0.2]),
        ("test:3", 2, "B-PER of טוב"): (hebrew, [0.0] * 5),
        ("test:4", 1, "the score"): ([f"word{i}" for i in range(300)], list(np.linspace(-1, 1, 300))),
    }
    rows = [
        (row, target, of, place, word, value)
        for (row, target, of), (words, values) in said.items()
        for place, (word, value) in enumerate(zip(words, values, strict=True), start=1)
    ]
    return pd.DataFrame(rows, columns=["row", "target", "of", "word", "text", "attribution"])


def texts_figure() -> Figure:
    return Figure(
        "texts", "words", x="word", y="row", side="target", facet="of", token="text", value="attribution",
        title="Which words made it", caption="Blue words are for it.", key="texts",
    )  # fmt: skip
