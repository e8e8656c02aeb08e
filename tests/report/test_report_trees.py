"""Trees over sentences: where words and arcs stand, and what is under the mouse."""

from __future__ import annotations

import re

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.report.charts import draw
from bertscope.report.trees import HIGHEST, SIZE, STEM, UPRIGHT, WIDEST
from planted_figures import BOTH, ONE, layers, svg, tree_figure, tree_table


def values(what: Figure, frame: pd.DataFrame) -> list[dict]:
    return draw(what, frame).to_dict()["data"]["values"]


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]


def test_words_stand_once_in_their_order_with_room_for_each():
    rows = [row for row in values(tree_figure(), tree_table()) if "word" in row]
    assert [row["word"] for row in rows] == ["she", "read", "the", "book", "."]
    assert [row["x"] for row in rows] == sorted(row["x"] for row in rows)
    left = [row["x"] - 3.1 * len(row["word"]) for row in rows]
    right = [row["x"] + 3.1 * len(row["word"]) for row in rows]
    assert all(start - end == pytest.approx(12) for end, start in zip(right, left[1:], strict=False))


def test_an_arc_for_each_edge_a_stem_for_each_root_and_nothing_for_the_rest():
    rows = [row for row in values(tree_figure(), tree_table()) if "up" in row]
    arcs = [(row["up"], row["c2"], row["c4"], row["span"]) for row in rows if "span" in row]
    assert arcs == [(1, 1, 2, 1), (1, 3, 4, 1), (1, 4, 2, 2), (-1, 2, 1, 1), (-1, 3, 2, 1), (-1, 4, 3, 1)]
    assert [(row["up"], row["c2"]) for row in rows if "span" not in row] == [(1, 2), (-1, 1)]


def test_arcs_are_drawn_from_word_to_word_above_and_below(tmp_path):
    centre = {row["word"]: row["x"] for row in values(tree_figure(), tree_table()) if "word" in row}
    picture = svg(tree_figure(), tree_table(), tmp_path)
    paths = re.findall(r'aria-roledescription="line mark"[^>]* d="([^"]+)"', picture)
    assert len(paths) == 6
    middle, ends = SIZE + HIGHEST, set()
    for path in map(points, paths):
        assert len(path) == 25
        (x, y), (to, end) = path[0], path[-1]
        assert y == pytest.approx(end, abs=0.1) and abs(y - middle) == pytest.approx(SIZE, abs=0.1)
        top = max(abs(height - middle) for _, height in path)
        spans = abs([*centre.values()].index(_near(x, centre)) - [*centre.values()].index(_near(to, centre)))
        assert top == pytest.approx(SIZE + HIGHEST * (spans / 2) ** 0.5, abs=0.2)
        ends.add((round(x, 1), round(to, 1), y < middle))
    read, book = round(centre["read"], 1), round(centre["book"], 1)
    assert (book, read, True) in ends and (book, read, False) not in ends
    stems = re.findall(
        r'aria-roledescription="rule mark"[^>]*transform="translate\(([\d.]+),([\d.]+)\)"[^>]*y2="(-?[\d.]+)"',
        picture,
    )
    assert sorted((float(x), abs(float(tall))) for x, _, tall in stems) == [
        (pytest.approx(centre[word], abs=0.1), pytest.approx(STEM, abs=0.1)) for word in ("she", "read")
    ]


def _near(x: float, centre: dict[str, float]) -> float:
    return min(centre.values(), key=lambda other: abs(other - x))


def test_series_have_a_colour_and_a_pattern_in_one_legend(tmp_path):
    arcs = layers(tree_figure(), tree_table())[0]["encoding"]
    assert arcs["color"]["scale"]["domain"] == arcs["strokeDash"]["scale"]["domain"] == [BOTH, ONE]
    assert arcs["color"]["legend"] == arcs["strokeDash"]["legend"]
    picture = svg(tree_figure(), tree_table(), tmp_path)
    assert picture.count(f">{BOTH}<") == 1 and picture.count(f">{ONE}<") == 1
    assert picture.count(">gold<") == 1 and picture.count(">predicted<") == 1
    assert len(re.findall(r'aria-roledescription="line mark"[^>]*stroke-dasharray="5,3"', picture)) == 2
    plain = layers(tree_figure(color=None), tree_table())[0]["encoding"]
    assert "color" not in plain and "strokeDash" not in plain


def test_each_sentence_has_its_panel_and_all_share_a_scale(tmp_path):
    long = tree_table("the professors understood internationalisation !", "s2 · 2 of 3 edges")
    both = pd.concat([tree_table(), long], ignore_index=True)
    spec = draw(tree_figure(), both).to_dict()
    assert spec["facet"]["sort"] == ["s1", "s2 · 2 of 3 edges"]
    scales = {
        str(layer["encoding"]["x"].get("scale"))
        for layer in spec["spec"]["layer"]
        if "field" in layer["encoding"].get("x", {})
    }
    assert len(scales) == 1
    picture = svg(tree_figure(), both, tmp_path)
    assert picture.count('aria-roledescription="line mark"') == 12 and ">2 of 3 edges<" in picture


def test_words_of_a_long_sentence_stand_upright():
    rows = [("s", "gold", place, f"word{place}", place - 1, ONE) for place in range(1, 41)]
    frame = pd.DataFrame(rows, columns=["sentence", "tree", "position", "word", "head", "edge"])
    spec = draw(tree_figure(), frame).to_dict()["spec"]
    assert spec["width"] == 40 * UPRIGHT <= WIDEST
    (words,) = [layer["mark"] for layer in spec["layer"] if layer["mark"].get("style") == "tree-word"]
    assert words["angle"] == 270 and "child_width" in words["fontSize"]["expr"]
    (words,) = [
        layer["mark"]
        for layer in layers(tree_figure(facet=None), tree_table())
        if layer["mark"].get("style") == "tree-word"
    ]
    assert words["angle"] == 0 and "child_width" not in words["fontSize"]["expr"]


def test_a_word_without_end_is_cut():
    frame = tree_table(f"she read the {'x' * 500} .")
    assert draw(tree_figure(), frame).to_dict()["spec"]["width"] < WIDEST


def test_trees_without_words_or_sides_are_refused():
    with pytest.raises(UserError, match="trees need a token column"):
        draw(tree_figure(token=None), tree_table())
    with pytest.raises(UserError, match="and a side column"):
        draw(tree_figure(side=None), tree_table())
