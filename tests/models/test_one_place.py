"""Models that are asked about together lie in one place; who gave an object said where."""

from __future__ import annotations

import copy

import pytest
import torch

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.change.question import change
from bertscope.core.errors import UserError
from bertscope.models.evaluating import best_device
from bertscope.models.load import load
from bertscope.models.one_place import bring_together
from device import DEVICE

NOWHERE = torch.device("meta")  # another device, which every machine has


def test_what_was_named_comes_to_what_was_given(tiny):
    given, named, other = tiny, copy.deepcopy(tiny), copy.deepcopy(tiny)
    there = given.device
    named.model.to(NOWHERE)
    bring_together([(named, False), (given, True), (other, True), ("a store of states", True)])
    assert {one.device for one in (given, named, other)} == {NOWHERE} != {there}


def test_what_was_given_stays_where_it_is(tiny):
    given, other = tiny, copy.deepcopy(tiny)
    other.model.to(NOWHERE)
    bring_together([(given, False), (other, False)])
    assert (given.device, other.device) == (torch.device(DEVICE, 0 if DEVICE == "cuda" else None), NOWHERE)
    bring_together([(given, True)])
    assert given.device != NOWHERE


def test_two_objects_in_two_places_are_refused(tiny, texts):
    other = copy.deepcopy(tiny)
    other.model.to(NOWHERE)
    with pytest.raises(UserError, match=r"is on (cpu|cuda:0) and .* on meta: open both in one place"):
        read_maps([tiny, other], texts, [])


@pytest.mark.parametrize("store", [False, True])
def test_a_module_on_the_cpu_and_a_folder(tiny, texts, tmp_path, store):
    """On a machine with a GPU the folder would be opened there."""
    folder = tiny.save(tmp_path / "tiny")
    module = load(str(folder), device="cpu")
    how = {"store": tmp_path / "store"} if store else {}
    found = change(module, str(folder), texts, repeats=100, **how)
    assert found["cosine"].value == pytest.approx(1) and module.device.type == "cpu"
    assert load(str(folder)).device.type == best_device().type
