"""Contact sheets: each map one small picture, in one scale of colours with its legend."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from test_report_figures import layers, svg

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.report import packed, theme
from bertscope.report.charts import draw


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


def pixels(row: dict) -> np.ndarray:
    """The levels in a map's picture, read as the PNG specification says."""
    data = base64.b64decode(row["head"] + theme.config()["params"][0]["value"] + row["body"])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = {}, 8
    while at < len(data):
        (long,) = struct.unpack(">I", data[at : at + 4])
        kind, body, crc = data[at + 4 : at + 8], data[at + 8 : at + 8 + long], data[at + 8 + long : at + 12 + long]
        assert struct.unpack(">I", crc)[0] == zlib.crc32(kind + body)
        found[kind], at = body, at + 12 + long
    assert list(found) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"] and len(found[b"PLTE"]) == 3 * 256
    width, height, *rest = struct.unpack(">IIBBBBB", found[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()  # no filter
    return lines[:, 1:]


def test_a_map_is_a_picture_of_its_values():
    values = np.array([[0.0, 0.25, 1.0], [0.01, 0.5, 0.04], [0.0, 0.0, 0.09]])
    rows = draw(maps(), cells(values, values / 4)).to_dict()["data"]["values"]
    assert [row["c0"] for row in rows] == ["head 1 · block", "head 2 · block"]
    assert pixels(rows[0]).tolist() == np.round(255 * np.sqrt(values)).tolist()
    assert pixels(rows[1]).tolist() == np.round(255 * np.sqrt(values / 4)).tolist()  # one scale for the whole sheet


def test_the_legend_has_the_colours_of_the_pictures(tmp_path):
    """Vega's colours for values from 0 to 1, and the palette that the pictures get."""
    table = pd.DataFrame({"x": range(18), "y": 1, "value": [level / 255 for level in range(0, 256, 15)]})
    picture = svg(Figure("heatmap", "t", "x", "y", "t", "c", value="value"), table, tmp_path)
    drawn = re.findall(r'aria-label="x: (\d+);[^>]*fill="rgb\((\d+), (\d+), (\d+)\)"', picture)
    colours = {int(x): [int(part) for part in rgb] for x, *rgb in drawn}
    palette = base64.b64decode(theme.config()["params"][0]["value"])[8:]
    assert sorted(colours) == list(range(18))
    for x, rgb in colours.items():
        assert rgb == pytest.approx(list(palette[45 * x : 45 * x + 3]), abs=1)
    scale = layers(maps(), cells(np.eye(2)))[0]["encoding"]["color"]["scale"]
    assert scale == {"domain": [0, 1], "interpolate": "rgb", "range": "heatmap", "type": "sqrt"}


def test_rows_in_any_order_and_cells_left_out():
    table = cells(np.arange(1, 10).reshape(3, 3) / 9)
    whole = draw(maps(), table).to_dict()["data"]["values"][0]
    assert draw(maps(), table.sample(frac=1, random_state=0)).to_dict()["data"]["values"][0] == whole
    (part,) = draw(maps(), table.drop(4)).to_dict()["data"]["values"]
    none = draw(maps(), table.assign(attention=table["attention"].mask(table.index == 4))).to_dict()
    assert pixels(part)[1, 1] == pixels(none["data"]["values"][0])[1, 1] == 0 < pixels(whole)[1, 1]


def test_maps_that_lie_on_each_other_are_refused():
    with pytest.raises(UserError, match="several values for the same query and key; name the column that separates"):
        draw(maps(facet=None), cells(np.eye(3), np.eye(3)))
    with pytest.raises(UserError, match="maps need a value column"):
        draw(maps(value=None), cells(np.eye(3)))


def test_tokens_stand_along_both_sides_and_repeated_ones_in_their_places(tmp_path):
    rows = draw(maps(token="token"), cells(np.eye(4))).to_dict()["data"]["values"]
    tokens = [(row["token"], row["at"]) for row in rows if "token" in row]
    assert tokens == [("[CLS]", 0.125), ("the", 0.375), ("the", 0.625), ("[SEP]", 0.875)]
    assert svg(maps(token="token"), cells(np.eye(4)), tmp_path).count(">the<") == 4
    assert len(layers(maps(token="token"), cells(np.eye(24)))) == 4
    assert len(layers(maps(token="token"), cells(np.eye(25)))) == 2  # too many to be read


def test_what_all_cells_of_a_map_share_is_under_the_mouse():
    table = cells(np.eye(3), np.eye(3)).assign(layer=7)
    spec = draw(maps(token="token"), table).to_dict()
    picture = spec["spec"]["layer"][1]["encoding"]
    assert [tip["title"] for tip in picture["tooltip"]] == ["map", "layer"]
    assert picture["description"]["field"] == "c0" and spec["data"]["values"][0]["c5"] == 7
    alone = table.query("map == 'head 1 · block'").drop(columns=["map", "layer"])
    assert layers(maps(facet=None), alone)[1]["encoding"]["tooltip"] == []


@pytest.mark.parametrize("facet", ["map", None])
def test_a_sheet_without_a_cell_has_no_picture(facet):
    table = cells(np.eye(2))
    for empty in (table.head(0), table.assign(query=float("nan"), key=float("nan"))):
        assert draw(maps(facet=facet, token="token"), empty).to_dict()["data"]["values"] == []


def test_an_endless_value_is_the_highest_colour_and_fits_json():
    table = cells(np.array([[0.5, np.inf], [-np.inf, np.nan]])).assign(score=np.inf)
    (row,) = draw(maps(), table).to_dict()["data"]["values"]
    assert pixels(row).tolist() == [[255, 255], [0, 0]]
    json.dumps(row, allow_nan=False)


def test_a_sheet_of_twenty_maps_is_light():
    """A rectangle per cell would take 1.5 MB; this is the worst case, noise."""
    table = cells(*np.random.default_rng(0).random((20, 32, 32)))
    assert len(json.dumps(draw(maps(), table).to_dict())) < 40_000


def test_a_table_is_packed_whole_and_small():
    table = cells(*np.random.default_rng(0).random((4, 32, 32)).round(4))
    gzipped = packed.pack(packed.table(table))
    assert len(gzipped) < len(table.to_csv()) / 5
    back = json.loads(gzip.decompress(base64.b64decode(gzipped)))
    pd.testing.assert_frame_equal(pd.DataFrame(dict(zip(back["columns"], back["cells"], strict=True))), table)
    assert back["decimals"] == [None, 0, 0, 3, None]


def test_what_json_has_no_word_for_is_packed_all_the_same():
    odd = pd.DataFrame({"x": [1.5, float("inf"), -float("inf"), None], "y": pd.array([1, None, 3, 4], "Int64")})
    back = packed.table(odd.assign(z=[True, None, False, True], words=["<b>", None, "-inf", "4"]))
    assert back["cells"] == [
        [1.5, "Infinity", "-Infinity", None], [1, None, 3, 4], [True, None, False, True], ["<b>", None, "-inf", "4"],
    ]  # fmt: skip
    assert back["decimals"] == [3, 0, None, None]
    assert "<" not in packed.script_json(back)
