"""The geometry of a layer: against loops over pairs, numpy's SVD, and shapes whose numbers are known."""

from __future__ import annotations

import copy
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t
from sklearn.decomposition import PCA

import bertscope
from bertscope.analyses.geometry.measures import by_text, explained, self_similarity
from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.space import AS_IT_IS, STANDARDISED, TOP_REMOVED, Form, LayerVectors, moments
from bertscope.analyses.geometry.words import read_words
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from conftest import DEVICE
from made_states import made_states, sentences_of

LENGTHS = [4, 1, 7, 5, 6, 2, 8, 3, 1, 9, 5, 6] * 3


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def mean_cosine(vectors):
    return np.mean([cosine(a, b) for a, b in combinations(vectors.astype(float), 2)])


@pytest.fixture
def made():
    """Words of twelve types in 36 sentences, each near its type's vector, all in a cone; and its words."""
    sentences = sentences_of(LENGTHS, vocabulary=12, seed=2)
    generator = np.random.default_rng(0)
    types = generator.normal(size=(12, 10)) + 1.0
    flat = [int(word[1:]) for sentence in sentences for word in sentence]
    vectors = types[flat] * generator.uniform(0.5, 2, (len(flat), 1)) + 0.7 * generator.normal(size=(len(flat), 10))
    store, examples = made_states([vectors], sentences)
    words = read_words(store, examples, GeometryConfig(groups=6))
    return store.vectors(0), words, np.array(flat), LayerVectors(store.vectors(0))


def without(words, group):
    return np.flatnonzero(words.group != group)


def test_the_baseline_is_the_mean_over_all_pairs(made):
    vectors, words, _, layer = made
    draws, _ = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert len(draws) == 7 and draws[0] == pytest.approx(mean_cosine(vectors), abs=1e-6)
    for group in range(6):
        assert draws[1 + group] == pytest.approx(mean_cosine(vectors[without(words, group)]), abs=1e-6)


def test_shapes_whose_cosine_is_known():
    generator = np.random.default_rng(1)
    sentences = sentences_of([20] * 200)
    isotropic = generator.normal(size=(4000, 50))
    around = generator.normal(size=(4000, 50))
    around[:, 0] = 0
    cone = around / np.linalg.norm(around, axis=1, keepdims=True) * np.sin(0.5)
    cone[:, 0] = np.cos(0.5)
    found = geometry(*made_states([isotropic, cone], sentences), GeometryConfig(sample=50)).table.query(
        "form == @AS_IT_IS"
    )
    baseline = found[found["measure"] == "baseline"].set_index("layer")
    # The mean cosine of n isotropic vectors is 0 with standard deviation sqrt(2 / (n (n - 1) d)).
    assert abs(baseline.loc[0, "value"]) < 4 * np.sqrt(2 / 4000**2 / 50)
    assert baseline.loc[1, "value"] == pytest.approx(np.cos(0.5) ** 2, abs=1e-3)
    assert baseline.loc[1, "low"] < np.cos(0.5) ** 2 < baseline.loc[1, "high"]


def test_a_word_is_compared_with_the_mean_of_its_text(made):
    vectors, words, _, layer = made
    _, draws = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]

    def expected(rows):
        inside = []
        for text in np.unique(words.text[rows]):
            own = vectors[words.text == text].astype(float)
            if len(own) > 1:
                inside.append(np.mean([cosine(one, own.mean(0)) for one in own]))
        return np.mean(inside)

    assert draws[0] == pytest.approx(expected(np.arange(len(vectors))), abs=1e-6)
    assert draws[3] == pytest.approx(expected(without(words, 2)), abs=1e-6)


def test_blocks_hold_whole_texts_of_one_group(made, monkeypatch):
    _, words, _, layer = made
    usual = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    similar = self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    monkeypatch.setattr("bertscope.analyses.geometry.words._ROWS", 10)
    blocks = list(words.blocks())
    assert len(blocks) > 12 and [begin for begin, _ in blocks[1:]] == [end for _, end in blocks[:-1]]
    for begin, end in blocks:
        assert len(set(words.group[begin:end])) == 1
        assert begin == 0 or words.text[begin - 1] != words.text[begin]
    np.testing.assert_allclose(by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS], usual, atol=1e-6)
    assert len(list(words.chunks())) > 5
    np.testing.assert_allclose(self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS], similar, atol=1e-6)


def test_self_similarity_is_the_mean_over_pairs_of_occurrences(made):
    vectors, words, flat, layer = made
    draws = self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert words.counts.min() >= 5 and list(words.counts) == sorted(words.counts) and len(words.types) == 12
    for at, name in enumerate(words.types):
        occurrences = np.flatnonzero(flat == int(name[1:]))
        assert words.counts[at] == len(occurrences)
        assert draws[0, at] == pytest.approx(mean_cosine(vectors[occurrences]), abs=1e-5)
        for group in range(6):
            left = np.intersect1d(occurrences, without(words, group))
            assert draws[1 + group, at] == pytest.approx(mean_cosine(vectors[left]), abs=1e-5)


def test_the_first_direction_explains_what_numpys_svd_says(made):
    vectors, words, flat, layer = made
    draws = explained(layer, words, {AS_IT_IS: Form()}, words.sets)[AS_IT_IS]

    def share(rows):
        values = np.linalg.svd(vectors[rows].astype(float), compute_uv=False) ** 2
        return values[0] / values.sum()

    at = 0
    for one in words.sets:
        for rows in one.rows:
            assert set(flat[rows]) == {int(words.types[at][1:])}
            assert draws[0, at] == pytest.approx(share(rows), abs=1e-5)
            for group in range(6):
                left = np.intersect1d(rows, without(words, group))
                assert draws[1 + group, at] == pytest.approx(share(left), rel=0.02)
            at += 1
    assert at == len(words.types)


def test_leaving_out_the_only_group_of_the_first_direction_finds_another(made):
    """Two orthogonal vectors, the longer in one group: without it the other explains all."""
    _, words, _, _ = made
    far = np.zeros((len(words.group), 3), np.float32)
    first, second = words.edges[0], words.edges[1]
    far[first], far[second] = (2, 0, 0), (0, 1, 0)
    sets = (copy.copy(words.sets[0]),)
    object.__setattr__(sets[0], "rows", np.array([[first, second]]))
    draws = explained(LayerVectors(far), words, {AS_IT_IS: Form()}, sets)[AS_IT_IS][:, 0]
    np.testing.assert_allclose(draws, [0.8, 1, 1, 0.8, 0.8, 0.8, 0.8], atol=1e-6)


def test_frequent_types_are_sampled_and_random_sets_are_as_many_and_as_large():
    sentences = [("The", "the", "THE", "cat"), ("a", "the", "Cat", "Cat"), ("the", "cat", "cat", "rare")] * 2
    store, examples = made_states([np.random.default_rng(0).normal(size=(24, 6))], sentences)
    words = read_words(store, examples, GeometryConfig(occurrences=6, least=4))
    assert words.types.tolist() == ["cat", "the"] and words.counts.tolist() == [10, 10]
    (sample,) = words.sets
    assert sample.rows.shape == (2, 6) and set(sample.rows[0]) <= {3, 6, 7, 9, 10, 15, 18, 19, 21, 22}
    (drawn,) = words.random_sets
    assert drawn.rows.shape == (2, 6) and all(len(set(rows)) == 6 for rows in drawn.rows.tolist())
    again = read_words(store, examples, GeometryConfig(occurrences=6, least=4, seed=1))
    assert not np.array_equal(again.sets[0].rows, sample.rows)


def test_random_sets_weigh_as_much_as_the_types_they_stand_for():
    sentences = [tuple(f"w{word}" for word in range(40))] * 5 + [("often",) * 7]
    store, examples = made_states([np.random.default_rng(0).normal(size=(207, 6))], sentences)
    few, one = read_words(store, examples, GeometryConfig()).random_sets
    assert (few.rows.shape, few.weight) == ((32, 5), 40 / 32) and (one.rows.shape, one.weight) == ((1, 7), 1)


def test_the_baseline_of_mev_is_the_mean_over_types_of_random_sets_of_their_size():
    sentences = [tuple(f"w{word}" for word in range(40))] * 5 + [("often",) * 50]
    vectors = np.random.default_rng(0).normal(size=(250, 6))
    store, examples = made_states([vectors], sentences)
    sets = read_words(store, examples, GeometryConfig()).random_sets

    def explained_by_one(rows):
        squares = np.linalg.svd(vectors[rows], compute_uv=False) ** 2
        return squares[0] / squares.sum()

    small, large = (np.mean([explained_by_one(rows) for rows in one.rows]) for one in sets)
    plain = pd_values(geometry(store, examples, GeometryConfig(sample=50)).tables["plain"])
    assert plain[0, AS_IT_IS, "MEV baseline"] == pytest.approx((40 * small + large) / 41, abs=1e-5)


def test_mending_is_what_it_is_called(made):
    vectors, words, _, layer = made
    known = moments(layer, words)
    forms = known.forms(2)
    whole = layer[:]
    pca = PCA(2).fit(vectors.astype(float))
    centred = vectors - vectors.mean(0, dtype=float)
    removed = centred - centred @ pca.components_.T @ pca.components_
    np.testing.assert_allclose(forms[TOP_REMOVED](whole).cpu().numpy(), removed, atol=1e-4)
    standard = forms[STANDARDISED](whole).cpu().numpy()
    np.testing.assert_allclose(standard, centred / vectors.std(0, dtype=float), atol=1e-4)
    np.testing.assert_array_equal(forms[AS_IT_IS](whole).cpu().numpy(), vectors)


def test_a_dimension_without_variance_is_no_trouble():
    vectors = np.random.default_rng(0).normal(size=(40, 5))
    vectors[:, 2] = 3.0
    result = geometry(*made_states([vectors], sentences_of([4] * 10, vocabulary=4)), GeometryConfig(sample=50))
    assert np.isfinite(result.table["value"]).all()


def test_the_effective_rank_is_the_entropy_of_the_spectrum(made):
    vectors, words, _, layer = made

    def expected(rows):
        values = np.linalg.eigvalsh(np.cov(vectors[rows].astype(float).T, bias=True))
        shares = values / values.sum()
        return np.exp(-(shares * np.log(shares)).sum())

    known = moments(layer, words)
    along = vectors.astype(float) @ known.directions.double().cpu().numpy()
    for group in range(6):
        np.testing.assert_allclose(known.spectrum[1 + group], along[without(words, group)].var(0), rtol=1e-4)
    draws = known.effective_rank()
    assert draws[0] == pytest.approx(expected(np.arange(len(vectors))), rel=1e-5)
    for group in range(6):
        assert draws[1 + group] == pytest.approx(expected(without(words, group)), rel=0.02)


def test_the_effective_rank_of_known_shapes():
    generator = np.random.default_rng(3)
    even = generator.normal(size=(20_000, 12))
    line = generator.normal(size=(20_000, 1)) * generator.normal(size=12) + 5
    result = geometry(*made_states([even, line], sentences_of([20] * 1000)), GeometryConfig(sample=100))
    ranks = result.tables["dimensions"].query("measure == 'effective rank'")["value"].tolist()
    assert ranks == pytest.approx([12, 1], abs=0.02)


def test_measures_add_up_in_the_tables(made):
    sentences = sentences_of(LENGTHS, vocabulary=12, seed=2)
    vectors, words, _, _ = made
    result = geometry(*made_states([vectors, 2 * vectors], sentences), GeometryConfig(groups=6, sample=60, listed=3))
    table = pd_values(result.tables["layers"])
    plain = pd_values(result.tables["plain"])
    for form in (AS_IT_IS, TOP_REMOVED, STANDARDISED):
        for measure in ("SelfSim", "intra-sentence"):
            adjusted = plain[0, form, measure] - table[0, form, "baseline"]
            assert table[0, form, f"{measure}*"] == pytest.approx(adjusted)
        assert table[0, form, "MEV*"] == pytest.approx(plain[0, form, "MEV"] - plain[0, form, "MEV baseline"])
    similar = self_similarity(LayerVectors(vectors), words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert plain[0, AS_IT_IS, "SelfSim"] == pytest.approx(similar[0].mean(), abs=1e-6), "every type counts alike"
    assert table[1, AS_IT_IS, "SelfSim*"] == pytest.approx(table[0, AS_IT_IS, "SelfSim*"], abs=1e-5), (
        "scale is nothing"
    )
    arrays = result.arrays
    for measure, baseline in (("SelfSim", "baseline"), ("intra-sentence", "baseline"), ("MEV", "MEV baseline")):
        np.testing.assert_allclose(arrays[f"{measure}*"], arrays[measure] - arrays[baseline])
    left = arrays["SelfSim*"][0, 1]
    either = t.ppf(0.975, 5) * np.sqrt(5 / 6 * ((left[1:] - left[1:].mean()) ** 2).sum())
    row = result.table.query("layer == 1 and form == @AS_IT_IS and measure == 'SelfSim*'").iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((left[0] - either, left[0] + either))
    listed = result.tables["words"]
    assert len(listed) == 6 and listed["kind"].value_counts().tolist() == [3, 3]
    assert listed["high"][:3].max() <= listed["high"][3:].max() and (listed["layer"] == 1).all()
    at = list(words.types).index(listed["word"][0])
    assert listed["value"][0] == pytest.approx(similar[0, at] - table[0, AS_IT_IS, "baseline"], abs=1e-5)
    assert listed["n"][0] == words.counts[at]


def pd_values(table):
    return table.set_index(["layer", "form", "measure"])["value"]


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


def test_words_are_ranked_by_the_safe_ends_of_their_intervals():
    """By loops: each type's occurrences without each group of texts that has it, less the baseline without it."""
    sentences = sentences_of(LENGTHS, vocabulary=30, seed=4)
    flat = np.array([word for sentence in sentences for word in sentence])
    generator = np.random.default_rng(1)
    centres = {word: generator.normal(size=10) * generator.uniform(0, 2) for word in sorted(set(flat))}
    vectors = np.array([centres[word] for word in flat]) + generator.normal(size=(len(flat), 10))
    store, examples = made_states([vectors], sentences)
    config = GeometryConfig(groups=6, sample=60, listed=3)
    group = read_words(store, examples, config).group
    baseline, baselines = mean_cosine(vectors), np.array([mean_cosine(vectors[group != at]) for at in range(6)])
    ends = {}
    for word in (word for word in centres if (flat == word).sum() >= 5):
        mine = np.unique(group[flat == word])
        left = [mean_cosine(vectors[(flat == word) & (group != at)]) for at in mine] - baselines[mine]
        value = mean_cosine(vectors[flat == word]) - baseline
        error = np.sqrt((len(mine) - 1) / len(mine) * ((left - np.mean(left)) ** 2).sum())
        either = t.ppf(0.975, len(mine) - 1) * error
        ends[word] = (value - either, value + either, len(mine))
    by_low, by_high = (sorted(ends, key=lambda word: ends[word][at]) for at in (0, 1))
    assert set(by_low[:3]) != set(by_high[:3]) and set(by_low[-3:]) != set(by_high[-3:])
    assert min(groups for *_, groups in ends.values()) < 6
    listed = geometry(store, examples, config).tables["words"]
    assert listed["word"].tolist() == [*by_high[:3], *by_low[-3:]]
    for _, row in listed.iterrows():
        assert (row["low"], row["high"]) == pytest.approx(ends[row["word"]][:2], abs=1e-5)


def test_a_rare_vocabulary_has_no_self_similarity():
    vectors = np.random.default_rng(0).normal(size=(60, 8))
    result = geometry(*made_states([vectors], sentences_of([6] * 10)), GeometryConfig(sample=50))
    assert set(result.table["measure"]) == {"baseline", "intra-sentence*"}
    assert "words" not in result.tables and any("no SelfSim and no MEV" in note for note in result.notes)


@pytest.fixture
def corpus():
    return read_examples("demo/corpus", limit=60)


def test_checkpoints_side_by_side(tiny, corpus, tmp_path):
    other = copy.deepcopy(tiny)
    other.name = "other"
    result = geometry([tiny, other], corpus, GeometryConfig(sample=100))
    assert set(result.table["checkpoint"]) == {tiny.name, "other"} and set(result.table["layer"]) == {0, 1, 2, 3}
    baseline = result.number(f"baseline, last layer, {tiny.name}")
    assert baseline.value == pytest.approx(mean_cosine(bertscope.hidden(tiny, corpus).vectors(3)), abs=1e-5)
    assert baseline.low < baseline.value < baseline.high and baseline.n == len(bertscope.hidden(tiny, corpus))
    assert Result.load(result.save(tmp_path / "r")).equals(result)
    if DEVICE == "cpu":  # bit-equality is promised there
        assert geometry([tiny, other], corpus, GeometryConfig(sample=100)).equals(result)
    assert any("the mean and 1 of 24" in note for note in result.notes)
    assert result.number(f"baseline, last layer, {STANDARDISED}, other").value < baseline.value


def test_plain_texts_have_types_in_lower_case(tiny):
    examples = Examples(ids=tuple("abcde"), text=("The cat sat.", "the Cat ran!", "THE dog", "a the", "the end"))
    words = read_words(bertscope.hidden(tiny, examples), examples, GeometryConfig())
    assert words.types.tolist() == ["the"] and words.counts.tolist() == [5]


def test_the_command_makes_and_shares_states(tiny, tmp_path):
    folder = tiny.save(tmp_path / "model")
    step = geometry.spec.plan(model_root(folder), examples_root("demo/corpus", limit=30), GeometryConfig(sample=50))
    told = []
    store = Store(tmp_path / "store")
    store.run(step, announce=lambda step, stored: told.append(step.name))
    assert told == ["states", "geometry"] and "layers" in store.result(step).tables


def test_how_many_directions_are_removed():
    assert [GeometryConfig().directions(dim) for dim in (24, 192, 768, 1024)] == [1, 2, 8, 10]
    assert GeometryConfig(top=3).directions(768) == 3 and GeometryConfig(top=30).directions(24) == 23


def test_what_can_not_work_is_refused(tiny):
    for wrong, said in (({"least": 1}, "least is 1"), ({"top": 0}, "top is 0"), ({"sample": 10}, "sample is 10"),
                        ({"sample": 6000}, "at most 5000"), ({"groups": 1}, "groups is 1"),
                        ({"occurrences": 4}, "occurrences is 4, less than the 5")):  # fmt: skip
        with pytest.raises(UserError, match=said):
            GeometryConfig(**wrong)
    with pytest.raises(UserError, match="the corpus has one word for"):
        geometry(tiny, Examples(ids=("a",), text=("yes",)))
