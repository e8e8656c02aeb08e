"""`geometry`: shapes whose numbers are known, models side by side; its plan, its settings and its mistakes."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import bertscope
from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import AS_IT_IS, STANDARDISED, Form, LayerVectors, self_similarity
from bertscope.analyses.geometry.words import read_words
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from device import DEVICE
from made_states import made_states, sentences_of
from running import made_by


def test_shapes_whose_cosine_is_known():
    generator = np.random.default_rng(1)
    sentences = sentences_of([20] * 200)
    isotropic = generator.normal(size=(4000, 50))
    around = generator.normal(size=(4000, 50))
    around[:, 0] = 0
    cone = around / np.linalg.norm(around, axis=1, keepdims=True) * np.sin(0.5)
    cone[:, 0] = np.cos(0.5)
    found = geometry(*made_states([isotropic, cone], sentences), GeometryConfig(sample=50)).table
    baseline = found[(found["measure"] == "baseline") & (found["form"] == AS_IT_IS)].set_index("layer")
    # The mean cosine of n isotropic vectors is 0 with standard deviation sqrt(2 / (n (n - 1) d)).
    assert abs(baseline.loc[0, "value"]) < 4 * np.sqrt(2 / 4000**2 / 50)
    assert baseline.loc[1, "value"] == pytest.approx(np.cos(0.5) ** 2, abs=1e-3)
    assert baseline.loc[1, "low"] < np.cos(0.5) ** 2 < baseline.loc[1, "high"]


def test_a_dimension_without_variance_is_no_trouble():
    vectors = np.random.default_rng(0).normal(size=(40, 5))
    vectors[:, 2] = 3.0
    result = geometry(*made_states([vectors], sentences_of([4] * 10, vocabulary=4)), GeometryConfig(sample=50))
    assert np.isfinite(result.table["value"]).all()


def test_the_effective_rank_of_known_shapes():
    generator = np.random.default_rng(3)
    even = generator.normal(size=(20_000, 12))
    line = generator.normal(size=(20_000, 1)) * generator.normal(size=12) + 5
    result = geometry(*made_states([even, line], sentences_of([20] * 1000)), GeometryConfig(sample=100))
    ranks = result.tables["dimensions"].query("measure == 'effective_rank'")["value"].tolist()
    assert ranks == pytest.approx([12, 1], abs=0.02)


def test_planted_contexts_are_found():
    """`static` always has one vector, `free` has a new one each time; the rest of the words are noise."""
    generator = np.random.default_rng(0)
    sentences = [("static", "free", *sentence) for sentence in sentences_of([3] * 60, vocabulary=30)]
    vectors = generator.normal(size=(300, 40))
    vectors[0::5] = np.r_[10.0, np.zeros(39)] + 0.1 * generator.normal(size=(60, 40))
    store, examples = made_states([vectors], sentences)
    listed = geometry(store, examples, GeometryConfig(listed=1, sample=100)).tables["words"]
    assert listed["word"].tolist()[1] == "static" and listed["value"].tolist()[1] == pytest.approx(1, abs=0.1)
    words = read_words(store, examples, GeometryConfig())
    similar = self_similarity(LayerVectors(store.vectors(0)), words, {"": Form()})[""][0]
    by_name = dict(zip(words.types, similar, strict=True))
    assert abs(by_name["free"]) < 0.05 and by_name["static"] > 0.95


def test_a_rare_vocabulary_has_no_self_similarity():
    vectors = np.random.default_rng(0).normal(size=(60, 8))
    result = geometry(*made_states([vectors], sentences_of([6] * 10)), GeometryConfig(sample=50))
    assert set(result.table["measure"]) == {"baseline", "intra_sentence_adjusted"}
    assert "words" not in result.tables and any("no SelfSim and no MEV" in note for note in result.notes)


@pytest.fixture
def corpus():
    return read_examples("demo/corpus", limit=60)


def test_checkpoints_side_by_side(tiny, corpus, tmp_path):
    other = copy.deepcopy(tiny)
    other.name = "other"
    result = geometry([tiny, other], corpus, GeometryConfig(sample=100))
    assert set(result.table["checkpoint"]) == set(result.models) == {tiny.id, f"{tiny.id}-2"}
    assert set(result.in_words().table["checkpoint"]) == {tiny.name, "other"}
    assert set(result.table["layer"]) == {0, 1, 2, 3}
    (baseline,) = result.numbers(key="baseline", model=tiny.id)
    assert baseline.of == {"model": tiny.id, "layer": "3", "form": "as_it_is"}
    assert baseline.label == f"baseline, last layer, {tiny.name}"
    assert {number.key for number in result.headline} == set(geometry.numbers)
    assert len({figure.key for figure in result.figures}) == len(result.figures)
    vectors = bertscope.hidden_states(tiny, corpus).vectors(3)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert baseline.value == pytest.approx((units @ units.T)[np.triu_indices(len(units), 1)].mean(), abs=1e-5)
    assert baseline.low < baseline.value < baseline.high and baseline.n == len(vectors)
    assert Result.load(result.save(tmp_path / "r")).equals(result)
    if DEVICE == "cpu":  # bit-equality is promised there
        assert geometry([tiny, other], corpus, GeometryConfig(sample=100)).equals(result)
    assert any("the mean and 1 of 24" in note for note in result.notes)
    (mended,) = result.numbers(key="baseline_mended", form=STANDARDISED, model=f"{tiny.id}-2")
    assert mended.value < baseline.value and mended.label == "baseline, last layer, standardised, other"


def test_it_is_told_by_its_embeddings_and_its_last_layer(tiny, corpus):
    result = geometry(tiny, corpus, GeometryConfig(sample=100))
    told, rows = geometry.sentence(result), result.table.query("measure == 'baseline' and form == @AS_IT_IS")
    first, last = (f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})".replace("-", "\u2212")
                   for _, row in rows.iloc[[0, -1]].iterrows())  # fmt: skip
    assert told.sentence == (
        f"Two random words have a cosine of {first} in {tiny.name}'s embeddings and {last} in its last layer."
    )
    assert told.main == result["baseline"].value
    keys = ["cone", "mended", "effective_rank", "isoscore", "intrinsic_dimension", "words"]
    assert [figure.key for figure in result.figures] == keys
    shown = result.in_words()
    assert "SelfSim*" in set(shown.table["measure"]) and shown.figures[0].where == {"form": "as it is"}
    assert set(shown.tables["words"]["kind"]) == {"most contextual", "least contextual"}


def test_plain_texts_have_types_in_lower_case(tiny):
    examples = Examples(ids=tuple("abcde"), text=("The cat sat.", "the Cat ran!", "THE dog", "a the", "the end"))
    words = read_words(bertscope.hidden_states(tiny, examples), examples, GeometryConfig())
    assert words.types.tolist() == ["the"] and words.counts.tolist() == [5]


def test_the_command_makes_and_shares_states(tiny, tmp_path):
    folder = tiny.save(tmp_path / "model")
    step = geometry.plan(model_root(folder), examples_root("demo/corpus", limit=30), GeometryConfig(sample=50))
    store = Store(tmp_path / "store")
    assert made_by(step, store) == ["states", "geometry"] and "layers" in store.result(step).tables


def test_how_many_directions_are_removed():
    assert [GeometryConfig().directions(dim) for dim in (24, 192, 768, 1024)] == [1, 2, 8, 10]
    assert GeometryConfig(top=3).directions(768) == 3 and GeometryConfig(top=30).directions(24) == 23


def test_what_can_not_work_is_refused(tiny):
    for wrong, message in (({"least": 1}, "least is 1"), ({"top": 0}, "top is 0"), ({"sample": 10}, "sample is 10"),
                        ({"sample": 6000}, "at most 5000"), ({"groups": 1}, "groups is 1"),
                        ({"words": 4}, "words is 4, less than the 5")):  # fmt: skip
        with pytest.raises(UserError, match=message):
            GeometryConfig(**wrong)
    with pytest.raises(UserError, match="the corpus has one word for"):
        geometry(tiny, Examples(ids=("a",), text=("yes",)))
