"""Bars, points and panels: what reaches Vega, and what it draws."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.figure import Figure
from bertscope.report import theme
from bertscope.report.charts import chart, draw, save_figure
from bertscope.report.drawing import Drawing, round_numbers
from planted_figures import CLASSES, SHARES, bars, layers, shares, svg
from planted_page import HOSTILE, heads, heat


def segments(picture: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Where each bar begins and how long it is, by layer and class."""
    drawn = re.findall(
        r'aria-label="([^"]*)"[^>]*aria-roledescription="bar"[^>]* d="M([\d.]+),[\d.]+h([\d.]+)', picture
    )
    named = [(html.unescape(label).split("; "), start, long) for label, start, long in drawn]
    facts = [(dict(fact.split(": ") for fact in label), start, long) for label, start, long in named]
    return {(fact["layer"], fact["pattern"]): (float(start), float(long)) for fact, start, long in facts}


# Bars


def test_bars_are_stacked_in_the_tables_order(tmp_path):
    encoding = layers(bars(), shares())[0]["encoding"]
    assert [encoding[channel]["field"] for channel in ("x", "y", "color")] == ["c3", "c1", "c2"]
    assert encoding["x"]["stack"] == "zero" and encoding["color"]["scale"]["domain"] == CLASSES
    table = shares().iloc[[0, 1, 2, 5, 4, 3]]  # the first bar gives the order, the second has another
    drawn = segments(svg(bars(), table, tmp_path))
    for layer, of in SHARES.items():
        for place, name in enumerate(CLASSES):
            start, long = drawn[str(layer), name]
            assert (start, long) == pytest.approx((640 * sum(of[:place]), 640 * of[place]), abs=0.1)


@pytest.mark.parametrize(("factor", "ends"), [(1, [0, 1]), (1.004, [0, 1]), (0.5, None), (30, None)])
def test_shares_end_at_one_and_other_values_at_a_round_number(factor, ends):
    scale = layers(bars(), shares().assign(share=lambda table: table["share"] * factor))[0]["encoding"]["x"]["scale"]
    assert scale.get("domain") == ends and scale.get("zero", True)


def test_ordered_categories_give_the_order_whatever_comes_first_in_the_table():
    order = pd.CategoricalDtype(["none", *reversed(CLASSES)], ordered=True)
    encoding = layers(bars(), shares().astype({"pattern": order}))[0]["encoding"]
    assert encoding["color"]["scale"]["domain"] == CLASSES[::-1]


def test_a_missing_share_is_not_drawn_and_takes_no_room(tmp_path):
    table = shares()
    table.loc[0, "share"] = None
    drawn = segments(svg(bars(), table, tmp_path))
    assert ("1", "vertical") not in drawn and drawn["1", "diagonal"][0] == 0
    assert len(drawn) == 5


def test_series_of_any_name_keep_their_order(tmp_path):
    odd = dict(zip(CLASSES, ["z.b['c']:Q", 'a"x\\y', HOSTILE.replace("&", "+")], strict=True))
    drawn = segments(svg(bars(), shares().replace({"pattern": odd}), tmp_path))
    assert sorted((start, name) for (layer, name), (start, _) in drawn.items() if layer == "2") == [
        (pytest.approx(start, abs=0.1), name) for start, name in zip([0, 64, 128], odd.values(), strict=True)
    ]


def test_bars_of_one_series_need_no_colour(tmp_path):
    table = shares().query("pattern == 'block'")
    (plain,) = layers(bars(color=None), table)
    assert "color" not in plain["encoding"] and "order" not in plain["encoding"]
    assert len(segments(svg(bars(), table, tmp_path))) == 2


def seen(colour: str, by: np.ndarray) -> np.ndarray:
    """The colour in CIELAB, as eyes with that matrix of linear RGB see it."""
    rgb = np.array(list(bytes.fromhex(colour[1:]))) / 255
    linear = np.clip(by @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


EYES = {  # Machado, Oliveira and Fernandes 2009, no cones of the kind at all
    "usual": np.eye(3),
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritan": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("dark", [False, True])
def test_five_areas_are_told_apart_by_all_eyes(eyes, dark):
    config = theme.config(dark=dark)
    shown = [seen(colour, np.array(EYES[eyes])) for colour in [*config["range"]["ordinal"][:5], config["background"]]]
    apart = [np.linalg.norm(one - other) for place, one in enumerate(shown) for other in shown[:place]]
    assert min(apart) > 20  # about ten times what can just be seen


# Points


def test_points_have_colour_and_shape_and_all_columns_under_the_mouse(tmp_path):
    table = heads().assign(cluster=["b", "a"] * 3)
    figure = Figure("points", "t", "effect", "low", "Heads", "c", color="cluster")
    (dots,) = layers(figure, table)
    encoding = dots["encoding"]
    assert encoding["color"]["scale"]["domain"] == encoding["shape"]["scale"]["domain"] == ["b", "a"]
    assert [tip["title"] for tip in encoding["tooltip"]] == list(table.columns)
    table.loc[1, "low"] = None
    assert svg(figure, table, tmp_path).count('aria-roledescription="point"') == 5


# Panels


def test_each_value_has_its_panel_in_the_tables_order(tmp_path):
    table = pd.concat([shares("tuned"), shares("pocket"), shares("tuned twice").assign(model=None)])
    spec = draw(bars(facet="model"), table).to_dict()
    assert spec["facet"]["field"] == "c0" and spec["facet"]["sort"] == ["tuned", "pocket"]
    picture = svg(bars(facet="model"), table, tmp_path)
    assert re.findall(">(tuned|pocket|null)<", picture) == ["tuned", "pocket"]
    assert picture.count('aria-roledescription="bar"') == 12


def test_panels_share_their_colours(tmp_path):
    table = pd.concat([heads().assign(model="a"), heads().assign(model="b", effect=heads()["effect"] * 10)])
    picture = svg(heat(facet="model"), table, tmp_path)
    fills = re.findall(r'aria-roledescription="rect mark"[^>]* fill="([^"]*)"', picture)
    assert len(fills) == 12 and not set(fills[:6]) >= set(fills[6:])  # each on its own scale they would be alike


@pytest.mark.parametrize(("panels", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3)])
def test_rows_of_panels_are_even(panels, columns):
    table = pd.concat([shares(f"model {number}") for number in range(panels)])
    assert draw(bars(facet="model"), table).to_dict()["columns"] == columns


def test_the_heading_names_a_number_and_breaks_at_the_dot(tmp_path):
    picture = svg(heat(facet="layer"), heads(), tmp_path)
    assert ">layer 1<" in picture and ">layer 2<" in picture
    table = heads().assign(model="pocket · tuned")
    picture = svg(heat(facet="model"), table, tmp_path)
    assert ">pocket<" in picture and ">tuned<" in picture


# Every kind


KINDS = {
    "bars": {"x": 2, "y": 1, "color": 0},
    "points": {"x": 2, "y": 3, "color": 0},
    "heatmap": {"x": 1, "y": 0, "value": 2},
    "lines": {"x": 1, "y": 2, "low": 3, "high": 4},
    "maps": {"x": 1, "y": 0, "value": 2, "token": 0},
    "trees": {"x": 1, "y": 0, "token": 2, "side": 0, "color": 0},
}
WHOLE = heads().assign(panel=["a", "b"] * 3)
ODD = {
    "missing values": WHOLE.assign(effect=[None, 1.0, float("inf"), float("nan"), 0.5, 0.1], panel=["a", None] * 3),
    "nothing but missing": WHOLE.assign(effect=float("nan"), low=float("nan"), panel=None),
    "no labels": WHOLE.assign(layer=None, head=pd.Series([None] * 6, dtype=object)),
    "categories": WHOLE.assign(panel=pd.Categorical(["a"] * 6, ["a", "unused"])),
    "one row": WHOLE.head(1),
    "one panel": WHOLE.assign(panel=1.0),
    "no row": WHOLE.head(0),
    "odd names": WHOLE.rename(columns={"effect": "a.b['c']:Q", "layer": HOSTILE, "panel": 'p"a\\n.el'}),
    "odd values": WHOLE.assign(panel=[HOSTILE, "a.b['c']:Q"] * 3, layer=[HOSTILE, "'\"\\"] * 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("panels", [True, False])
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_tables_are_drawn_all_the_same(kind, name, panels, tmp_path):
    table = ODD[name]
    if kind == "maps":
        table = table.drop_duplicates([*table.columns[:2], *([table.columns[-1]] if panels else [])])
    about = {channel: table.columns[at] for channel, at in KINDS[kind].items()}
    figure = Figure(kind, "t", **about, facet=table.columns[-1] if panels else None, title=HOSTILE, caption="c")
    picture = svg(figure, table, tmp_path)
    assert picture.startswith("<svg") and "<script" not in picture
    assert 0 <= float(re.search(r'viewBox="0 0 [\d.]+ ([\d.e+]+)"', picture)[1]) < 2000


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("kind", ["bars", "points", "maps", "trees"])
def test_each_kind_is_saved(kind, ending, first, tmp_path):
    about = {channel: WHOLE.columns[at] for channel, at in KINDS[kind].items()}
    figure = Figure(kind, "t", **about, facet="panel", title="t", caption="c")
    assert save_figure(figure, WHOLE, tmp_path / f"f.{ending}").read_bytes().startswith(first)
    assert chart(figure, WHOLE).to_dict()["description"] == "t"


# Grids, rules and legends


def curve(last: float, **more) -> dict:
    table = pd.DataFrame({"layer": [0, 6, 12], "score": [0.9, 0.8, last]})
    about = {"rules": {"chain": 0.4}} | more
    return draw(Figure("lines", "t", "layer", "score", "Scores", "c", **about), table).to_dict()


def test_rules_leave_the_grid_and_their_words_stand_where_no_data_are():
    for last, side in ((0.8, "right"), (0.42, "left")):
        layers = curve(last)["layer"]
        words = [layer["mark"] for layer in layers if layer["mark"]["type"] == "text"]
        assert {mark["align"] for mark in words} == {side}
        axes = [layer["encoding"]["y"]["axis"] for layer in layers if "axis" in layer["encoding"].get("y", {})]
        assert axes and all(axis["grid"] for axis in axes)


def test_a_legends_ends_have_the_digits_of_the_larger_and_marks_their_words():
    table = pd.DataFrame({"layer": [1, 2], "head": 1, "effect": [8.2e-6, 0.191], "sure": True})
    figure = Figure("heatmap", "t", "head", "layer", "One", "c", value="effect", mark="sure")
    first, *_, last = draw(figure, table).to_dict()["layer"]
    assert first["encoding"]["color"]["legend"]["format"] == ".3~f"
    assert last["encoding"]["shape"]["legend"]["labelLimit"] > 400


@pytest.mark.parametrize(("value", "domain"), [(0.0, [0, 1]), (1.0, [0, 1]), (0.2, [0, 0.2]), (-0.2, [-0.2, 1])])
def test_a_map_of_one_value_counts_from_0(value, domain):
    table = pd.DataFrame({"layer": [1, 2], "head": 1, "effect": value})
    first = draw(Figure("heatmap", "t", "head", "layer", "One", "c", value="effect"), table).to_dict()["layer"][0]
    assert first["encoding"]["color"]["scale"]["domain"] == first["encoding"]["color"]["legend"]["values"] == domain


def test_few_long_names_stand_straight_under_a_heat_map_and_many_aslant():
    def drawn(names: list[str]) -> tuple[float, float]:
        table = pd.DataFrame([{"gold": one, "said": other, "share": 0.5} for one in names for other in names])
        spec = draw(Figure("heatmap", "t", "said", "gold", "One", "c", value="share"), table).to_dict()
        return spec["layer"][0]["encoding"]["x"]["axis"]["labelAngle"], spec["width"]

    straight, width = drawn(["entailment", "neutral", "contradiction"])
    assert straight == 0 and 3 * 6 * len("contradiction") < width < 340
    assert drawn([f"a long name {place}" for place in range(12)]) == (-40, 12 * 34)
    assert drawn(["no", "yes"]) == (0, 2 * 34)


def test_rows_that_are_numbers_say_of_what():
    table = pd.DataFrame({"layer": [1, 2], "effect": [0.1, 0.2]})
    drawn = draw(Figure("intervals", "t", "effect", "layer", "Layers", "c"), table).to_dict()
    assert drawn["layer"][-1]["encoding"]["y"]["title"] == "layer"


def test_intervals_of_which_there_are_none_are_not_drawn():
    table = pd.DataFrame({"arm": ["a", "b"], "score": [0.1, 0.2], "low": [None, 0.1], "high": [0.3, None]})
    figure = Figure("intervals", "t", "score", "arm", "Arms", "c", low="low", high="high")
    assert [layer["mark"]["type"] for layer in draw(figure, table).to_dict()["layer"]] == ["point"]


@pytest.mark.parametrize(("layers", "marked"), [(13, True), (25, False)])
def test_each_of_few_layers_is_marked(layers, marked, tmp_path):
    rows = [{"layer": layer, "score": layer / layers, "of": of} for layer in range(layers) for of in "ab"]
    figure = Figure("lines", "lines", x="layer", y="score", facet="of", title="", caption="")
    drawn = save_figure(figure, pd.DataFrame(rows), tmp_path / "lines.svg").read_text()
    axis = re.findall(r'aria-roledescription="axis" aria-label="X-axis.*?</g></g></g>', drawn, re.DOTALL)[0]
    written = re.findall(r">(\d+)</text>", axis)
    assert (written == [str(layer) for layer in range(layers)]) == marked and written[0] == "0"


@pytest.mark.parametrize("beside", [{"low": "low"}, {"rules": {"majority": 0.521}}])  # 0.5 would be written as 1
def test_scores_that_are_all_1_are_no_counts(beside):
    table = pd.DataFrame({"layer": [1, 2], "score": 1.0, "low": 0.6})
    for kind, x, y in (("points", "layer", "score"), ("intervals", "score", "layer")):
        axis = Drawing(Figure(kind, "t", x, y, "Scores", "c", **beside), table).measure("score")["axis"]
        assert "format" not in axis.to_dict()


@pytest.mark.parametrize("kind", ["bars", "points", "intervals"])
def test_counts_are_not_marked_one_by_one(kind):
    """The bars reach to 7 + 6; dots at odd places are no reason for odd numbers along the axis."""
    table = pd.DataFrame({"source": [1, 1, 2], "verdict": ["holds", "fails", "holds"], "rows": [7, 6, 3]})
    figure = Figure(kind, "counts", x="rows", y="source", color="verdict", title="", caption="")
    axes = [layer["encoding"]["x"]["axis"] for layer in draw(figure, table).to_dict()["layer"]]
    assert axes and all("values" not in axis and axis["tickCount"] == 6 for axis in axes)


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1, 40], [1, 2, 5, 10, 20]),
        ([0.3, 6.2], [0.5, 1, 2, 5]),
        ([1e-6, 20], [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10]),
        ([0, 3], []),
        ([], []),
    ],
)
def test_marks_of_a_logarithmic_axis_are_round(values, marks):
    assert round_numbers(values) == pytest.approx(marks)
