"""What the store knows of heads: of this very checkpoint, as the questions declare it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.core.units import columns, every, heads_and_mlps
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskHead, Change, LookAt, Reading
from explored import another
from stored_steps import put_step

HEADS = every("head", [4, 4, 4])
PARTS = heads_and_mlps([4, 4, 4], [48, 48, 48])


def stored(folder, question: str, encoders, tables, *, task="toy", arrays=None, older=0):
    """A step of that question about these models, and its result."""
    models = {one.record.id: one.record for one in encoders}
    inputs = {f"model{place}": Root("model", one.name, one.id) for place, one in enumerate(encoders)}
    declared = bertscope.core.registry.find(question)
    step = Step(question, declared.version - older, {"task": task, "models": [*models]}, inputs)
    result = Result(question, step.version, tables, arrays or {}, models=models, subject={"task": task})
    put_step(folder, step, result)
    return step


def importance(values) -> dict[str, pd.DataFrame]:
    table = pd.DataFrame(columns(HEADS)).assign(importance=values, low=values - 0.1, high=values + 0.1)
    mlp = pd.DataFrame({"unit": ["mlp:1"], "kind": ["mlp"], "layer": [1], "importance": [99.0]})
    return {"parts": pd.concat([table, mlp], ignore_index=True)}


@pytest.fixture
def store(tmp_path):
    bertscope.Store(tmp_path / "store").mark()
    return tmp_path / "store"


def by_start(found, start):
    return [one for one in found if one.label.startswith(start)]


def test_colours_cards_and_presets_of_a_ranking(tiny, store):
    values = np.arange(12.0)[::-1] / 10
    stored(store, "importance", [tiny], importance(values))
    stored(store, "importance", [tiny], importance(values + 1), older=1)  # which the other gave again
    explorer = Explorer.open(tiny, another(tiny), store=store)
    about = explorer.about()
    (one,) = by_start(about.colourings, "importance: importance")
    assert one.model == 0 and not one.signed and one.values == values.reshape(3, 4).tolist()
    (preset,) = [one for one in about.presets if "matter most" in one.label]
    assert preset.off == [str(unit) for unit in HEADS[:10]] and preset.model == 0
    (fact,) = explorer.head(AskHead(1, 2)).facts
    assert (fact.label, fact.value) == ("importance", "1.000")
    assert fact.note == "0.900 to 1.100 · 2nd highest of 12 · importance, toy"
    assert explorer.head(AskHead(3, 4)).facts[0].note.startswith("−0.100 to 0.100 · lowest of 12")
    assert explorer.head(AskHead(1, 2, model=1)).facts == []


def test_what_is_of_another_model_says_nothing(tiny, store):
    stored(store, "importance", [another(tiny, 0.5)], importance(np.ones(12)))
    about = Explorer.open(tiny, store=store).about()
    assert about.colourings == [] and [one.key for one in about.presets] == ["random:0"]


def test_of_two_checkpoints_each_has_its_own(tiny, store):
    """A table that tells of several: items of a head are the best of them."""
    other = another(tiny)
    rows = [
        {"checkpoint": encoder.record.id, "layer": unit.layer, "head": unit.number, "relation": relation,
         "direction": "there", "test_accuracy": place / 12 + bonus - less}
        for encoder, bonus in ((tiny, 0.0), (other, 0.01))
        for place, unit in enumerate(HEADS) for relation, less in (("nsubj", 0), ("obj", 1))
    ]  # fmt: skip
    stored(store, "relations", [tiny, other], {"heads": pd.DataFrame(rows)})
    explorer = Explorer.open(tiny, other, store=store)
    first, second = by_start(explorer.about().colourings, "relations: accuracy")
    assert (first.model, second.model) == (0, 1)
    assert np.subtract(second.values, first.values) == pytest.approx(0.01)
    np.testing.assert_allclose(np.ravel(first.values), np.arange(12) / 12)
    assert first.label.endswith("the best (toy)")
    best, worse = explorer.head(AskHead(3, 4)).facts
    assert "nsubj" in best.label and "obj" in worse.label and "highest of 12" in best.note


def test_effects_have_a_middle(tiny, store):
    table = pd.DataFrame(columns(HEADS)).assign(
        effect=np.linspace(-0.5, 0.1, 12), low=-1.0, high=1.0, p=0.5, p_holm=1.0
    )
    stored(store, "ablate", [tiny], {"effects": table})
    (one,) = Explorer.open(tiny, store=store).about().colourings
    assert one.signed and one.values[0][0] == -0.5


def test_what_pruning_removed(tiny, store):
    kept = np.arange(len(PARTS)) % 3 > 0
    stored(store, "prune", [tiny], {"survivors": pd.DataFrame(columns(PARTS)).assign(survives=kept)})
    explorer = Explorer.open(tiny, store=store)
    (preset,) = [one for one in explorer.about().presets if "pruning" in one.label]
    assert preset.off == [str(unit) for unit, stays in zip(PARTS, kept, strict=True) if not stays]
    assert explorer.head(AskHead(1, 1)).facts[0].value == "no"
    assert "highest" not in explorer.head(AskHead(1, 2)).facts[0].note
    explorer.look(LookAt(Reading("a good house"), [Change(preset.off)]))


def test_the_smallest_good_ticket(tiny, store):
    masks = np.array([[1] * 10 + [0] * 5, [0] * 7 + [1] * 8, [1] * 15], np.uint8)
    table = pd.DataFrame(columns(PARTS)).assign(share=masks.mean(0), seeds=3)
    stored(store, "lottery", [tiny], {"survivors": table}, arrays={"survivors": masks})
    about = Explorer.open(tiny, store=store).about()
    (preset,) = [one for one in about.presets if "ticket" in one.label]
    assert preset.off == [str(unit) for unit in PARTS[:7]] and "smallest of 3" in preset.label
    (one,) = by_start(about.colourings, "lottery: share of seeds")
    np.testing.assert_allclose(np.ravel(one.values), masks.mean(0)[:12])


def test_damaged_answers_and_those_without_a_card_are_left_out(tiny, store):
    step = stored(store, "importance", [tiny], importance(np.ones(12)))
    stored(store, "probe", [tiny], {"layers": pd.DataFrame({"layer": [1], "score": [0.5]})})
    file = next((store / "steps" / step.id / "result").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert Explorer.open(tiny, store=store).about().colourings == []


def test_a_store_that_isnt_there_knows_nothing(tiny, tmp_path):
    assert Explorer.open(tiny, store=tmp_path / "none").about().colourings == []
    assert not (tmp_path / "none").exists()


def test_random_heads_are_always_the_same(tiny):
    one, two = (Explorer.open(tiny).about().presets for _ in range(2))
    assert one == two and len(set(one[0].off)) == 10


@pytest.mark.slow
def test_answers_that_were_really_asked(toy_model, toy_task, store):
    bertscope.ablate(toy_model, toy_task, store=store, repeats=200, permutations=199)
    bertscope.patterns(toy_model, list(toy_task.test.text[:20]), store=store)
    explorer = Explorer.open(toy_model, None, replace(toy_task), store=store)
    labels = [one.label for one in explorer.about().colourings]
    assert any(label.startswith("ablate: rise of the loss") for label in labels)
    assert any(label.startswith("patterns: entropy") for label in labels)
    shape = next(fact for fact in explorer.head(AskHead(2, 1)).facts if fact.label == "shape")
    assert shape.value in explorer.about().patterns
