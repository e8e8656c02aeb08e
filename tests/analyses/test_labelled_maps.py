"""The set of labelled attention maps: its files agree, and the built-in model still makes its maps."""

from __future__ import annotations

import csv
import json
from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file

from bertscope.models.load import load
from patterns.make_maps import HERE, collect, draw, read_texts
from plain_attention import plain_maps
from shared_data import DATA, needs_data

LABELS = {"vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous"}


@pytest.fixture(scope="module")
def maps():
    return load_file(HERE / "maps.safetensors")


@pytest.fixture(scope="module")
def about():
    lines = (HERE / "maps.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def labels():
    with (HERE / "labels.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_map_is_attention_over_its_real_tokens(maps, about):
    assert set(maps) == set(about)
    for id, attention in maps.items():
        row, length = about[id], about[id]["length"]
        assert attention.shape == (length, length)
        np.testing.assert_allclose(attention.sum(1, dtype=np.float32), 1, atol=3e-3)
        assert row["special"][0] == 0 and row["special"][-1] == length - 1
        assert row["second"] == (row["special"][1] + 1 if row["text"].startswith("p") else None)


def test_every_map_has_one_label_and_every_label_forty_maps(about, labels):
    assert [row["id"] for row in labels] == list(about)
    assert {row["unsure"] for row in labels} <= {"true", "false"}
    counts = Counter(row["label"] for row in labels)
    assert set(counts) == LABELS and min(counts.values()) >= 40


def test_the_recipe_draws_these_maps_and_no_map_twice(about):
    drawn = draw([text["id"] for text in read_texts()])
    assert [vars(one) for one in drawn] == [{key: row[key] for key in vars(drawn[0])} for row in about.values()]
    assert len({(one.model, one.layer, one.head, one.text) for one in drawn}) == len(drawn)


@needs_data
def test_the_first_pocket_makes_its_maps_again(maps, about):
    texts = read_texts()[::10]
    drawn = [one for one in draw([text["id"] for text in read_texts()]) if one.model == "pocket"]
    found = collect({"pocket": load(DATA.parent / "pocket", device="cpu")}, drawn, texts)
    assert {found.about[id]["text"] for id in found.maps} == {text["id"] for text in texts}
    for id, attention in found.maps.items():
        assert found.about[id] == about[id]
        np.testing.assert_allclose(attention.float().numpy(), maps[id].astype(np.float32), atol=2e-3)


def test_what_is_collected_is_the_librarys_attention():
    texts = {text["id"]: text for text in read_texts()[::10]}
    assert {text["pair"] is None for text in texts.values()} == {True, False}
    drawn = [one for one in draw([text["id"] for text in read_texts()]) if one.model == "pocket"]
    encoder = load("pocket", device="cpu")
    found = collect({"pocket": encoder}, drawn, [*texts.values()])
    plain = {id: plain_maps(encoder, text["text"], text["pair"]) for id, text in texts.items()}
    assert len(found.maps) > 10
    for one in drawn:
        if one.id in found.maps:
            expected = plain[one.text][one.layer - 1, one.head - 1]
            np.testing.assert_allclose(found.maps[one.id].float().numpy(), expected, atol=2e-3)
