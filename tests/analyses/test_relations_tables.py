"""The tables of `relations` against pairs counted one by one in plain maps, with scipy's and statsmodels' tests."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import permutation_test, ttest_rel
from statsmodels.stats.multitest import multipletests

from bertscope.analyses.relations.against_controls import beyond_twins
from bertscope.analyses.relations.pairs import collect_pairs
from bertscope.analyses.relations.question import RelationsConfig, relations
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.models.batches import pieces_of_words
from planted_features import FILLERS, HEADS, NOUNS, VERBS, planted, sentences
from relation_units import spelled, spelled_controls

CONFIG = RelationsConfig(repeats=100, least=7)
DIRECTIONS = ("to_target", "to_source")
KINDS = ("a", "a", "a", "a", "b", "b", "c")


def corpus(n: int = 80) -> Examples:
    """Random words, some of several pieces, random trees of three relations, and spans that are linked."""
    random = np.random.default_rng(4)
    words, heads, marks, links = [], [], [], []
    for row in range(n):
        length = int(random.integers(4, 9))
        words.append(tuple(map(str, random.choice([*FILLERS, "unquestionably", "whispered"], length))))
        heads.append((ROOT, *(int(random.integers(word)) for word in range(1, length))))
        marks.append(("root", "rare" if row % 8 == 0 else "a", *map(str, random.choice(KINDS, length - 2))))
        ends = random.permutation(length)
        link = Link("x", tuple(sorted(map(int, ends[:2]))), (int(ends[2]),), "Frame")
        whole = Link("y", (0,), (length - 1,), "Frame" if row % 2 else "")  # the only place for it: no control
        links.append((link, whole)[: int(random.integers(3))])
    ids, text = zip(*((f"s{row}", f"{row} {' '.join(one)}") for row, one in enumerate(words)), strict=True)
    return Examples(ids, text, words=tuple(words), governors=tuple(heads), marks={"relation": tuple(marks)},
                    links=tuple(links))  # fmt: skip


def pieces_of(encoder, words):
    """Plain maps of one sentence, [layer, head, query, key], and which tokens are each word's."""
    coded = encoder.tokenizer([[" " + word for word in words]], is_split_into_words=True, return_tensors="pt")
    encoder.model.set_attn_implementation("eager")
    with torch.inference_mode():
        output = encoder.model(**coded.to(encoder.device), output_attentions=True)
    maps = torch.stack([one[0] for one in output.attentions]).double().cpu().numpy()
    return maps, [[i for i, at in enumerate(coded.word_ids()) if at == word] for word in range(len(words))]


def counted(encoder, examples):
    """A row for each pair, direction and head; and for each sentence with links and head its frame scores."""
    pairs = collect_pairs(examples, pieces_of_words(encoder.tokenizer, examples, encoder.max_length))
    ends, controls = spelled(pairs, examples, pairs.ends), spelled_controls(pairs, examples)
    plain = [pieces_of(encoder, words) for words in examples.words]

    def excess(sentence, layer, head, source, target):
        """Beyond what the target's pieces get if all tokens get the same."""
        maps, pieces = plain[sentence]
        given = [maps[layer, head][np.ix_(pieces[a], pieces[b])].sum(1).mean() for a, b in product(source, target)]
        return np.sum(given) / len(source) - sum(len(pieces[word]) for word in target) / maps.shape[-1]

    rows, frames = [], []
    for sentence in range(len(examples)):
        maps, pieces = plain[sentence]
        mine = range(*pairs.starts[sentence : sentence + 2])
        for layer, head in product(range(maps.shape[0]), range(maps.shape[1])):
            one = maps[layer, head]
            words = np.array([[one[np.ix_(a, b)].sum(1).mean() for b in pieces] for a in pieces])
            where = {
                "sentence": sentence,
                "validation": pairs.chooses[sentence],
                "layer": layer + 1,
                "head": head + 1,
            }
            for pair, (which, direction) in product(mine, enumerate(DIRECTIONS)):
                source, target = ends[pair][which], ends[pair][1 - which]
                given = words[list(source)].mean(0)
                found = max((word for word in range(len(pieces)) if word not in source), key=given.__getitem__)
                control = np.nan
                if pair in controls:
                    row, moved = controls[pair]
                    control = excess(row, layer, head, moved[which], moved[1 - which])
                of = {"relation": pairs.names[pairs.relation[pair]], "direction": direction}
                hit = {
                    "pair": pair,
                    "hit": found in target,
                    "attention": excess(sentence, layer, head, source, target),
                }
                rows.append(where | of | hit | {"control": control})
            framed = [ends[pair] for pair in mine if pairs.framed[pair]]
            if framed:
                tokens = [[[i for word in end for i in pieces[word]] for end in both] for both in framed]
                scores = [excess(sentence, layer, head, *both) for both in framed]
                most = max(one[i, j] for a, b in tokens for i, j in product(a, b))
                frames.append(where | {"score": np.mean(scores), "maximum": most})
    return pd.DataFrame(rows), pd.DataFrame(frames), ends, pairs


@pytest.fixture(scope="module")
def answered(_tiny):
    """What `relations` says, and the pairs counted by hand."""
    examples = corpus()
    encoder = copy.deepcopy(_tiny)
    result = relations(encoder, examples, CONFIG)
    return result, *counted(encoder, examples)


KEYS = ["relation", "direction", "layer", "head"]


def test_heads_are_means_over_pairs_of_each_half(answered):
    result, rows, *_ = answered
    heads = result.tables["heads"].set_index(KEYS).sort_index()
    hits = rows.groupby([*KEYS, "validation"])["hit"].mean().unstack("validation").sort_index()
    np.testing.assert_allclose(heads["test_accuracy"], hits[False])
    np.testing.assert_allclose(heads["validation_accuracy"], hits[True])
    assert (hits[False] != hits[True]).any(axis=None)
    compared = rows.dropna(subset="control").groupby(KEYS)[["attention", "control"]].agg(["mean", "size"])
    assert compared["control", "size"].max() > compared["control", "size"].min() > 0
    mine = heads.loc[compared.index]
    np.testing.assert_allclose(mine["n"], compared["control", "size"])
    np.testing.assert_allclose(mine["control"], compared["control", "mean"], atol=1e-6)
    np.testing.assert_allclose(mine["attention"], compared["attention", "mean"], atol=1e-6)
    never = heads.drop(compared.index)
    assert (never["n"] == 0).all() and never["p"].isna().all()


def test_pairs_and_controls_are_tested_as_pairs_and_holm_over_the_relations_heads(answered):
    result, rows, *_ = answered
    heads = result.tables["heads"].set_index(KEYS).sort_index()
    paired = rows.dropna(subset="control")
    tested = 0
    for relation, of_relation in paired.groupby("relation"):
        few = of_relation["pair"].nunique() < CONFIG.least
        assert heads.loc[relation]["p"].isna().all() == few
        if few:
            continue
        tested += 1
        assert (of_relation.groupby("sentence")["pair"].nunique() == 1).all(), "a sentence has one pair at most"
        groups = of_relation.groupby(KEYS)
        wanted = groups.apply(lambda mine: ttest_rel(mine["attention"], mine["control"]).pvalue).sort_index()
        np.testing.assert_allclose(heads.loc[wanted.index, "p"], wanted, rtol=1e-3)
        corrected = multipletests(wanted, method="holm")[1]  # all heads of all layers, both directions
        np.testing.assert_allclose(heads.loc[wanted.index, "p_holm"], corrected, rtol=1e-3)
        assert len(wanted) == 24 and (corrected > wanted).any()
    assert tested > 1
    above = result["above_controls"]
    assert above.value == heads["certain"].sum() and above.n == heads["p"].notna().sum()


def offset_hits(ends, pair, direction, offset):
    """Whether so many words on from the nearer end of the one stands the other."""
    source, target = ends[pair][direction], ends[pair][1 - direction]
    return any(word - (source[-1] if word > source[-1] else source[0]) == offset for word in target)


def test_the_best_head_and_offset_are_chosen_on_one_half_and_scored_on_the_other(answered):
    result, rows, _, ends, _ = answered
    best = result.tables["best"].set_index("relation")
    p = {}
    for relation, mine in rows.groupby("relation"):
        validation, test = mine[mine["validation"]], mine[~mine["validation"]]
        row = best.loc[relation]
        hits = validation.groupby(KEYS[1:])["hit"].sum()
        assert hits[row["direction"], row["layer"], row["head"]] == hits.max()
        chosen = test[(test[KEYS[1:]] == row[KEYS[1:]].tolist()).all(axis=1)]
        assert row["accuracy"] == pytest.approx(chosen["hit"].mean())
        found = {
            (way, offset): sum(offset_hits(ends, pair, way, offset) for pair in validation["pair"].unique())
            for way, offset in product((0, 1), (*range(-10, 0), *range(1, 11)))
        }
        fixed = (DIRECTIONS.index(row["offset_direction"]), row["offset"])
        assert found[fixed] == max(found.values())
        by_offset = chosen["pair"].map(lambda pair, fixed=fixed: offset_hits(ends, pair, *fixed))
        assert row["offset_accuracy"] == pytest.approx(by_offset.mean())
        assert row["difference"] == pytest.approx(chosen["hit"].mean() - by_offset.mean())
        assert (row["validation_pairs"], row["test_pairs"]) == (validation["pair"].nunique(), test["pair"].nunique())
        if len(chosen) >= CONFIG.least:
            apart = (chosen["hit"].astype(int) - by_offset).groupby(chosen["sentence"]).sum()
            apart = apart[apart != 0].to_numpy()  # a 0 has no sign: all others are flipped in every way
            sums = (np.array(list(product((-1, 1), repeat=len(apart)))) @ apart) if len(apart) <= 16 else None
            p[relation] = (
                np.mean(np.abs(sums) >= abs(apart.sum())) if sums is not None
                else permutation_test((apart,), np.sum, permutation_type="samples", n_resamples=20_000,
                                      random_state=0).pvalue
            )  # fmt: skip
    tested = pd.Series(p)
    assert set(best.index[best["p"].notna()]) == set(tested.index) and 1 < len(tested) < len(best)
    np.testing.assert_allclose(best.loc[tested.index, "p"], tested, atol=0.02)
    holm = multipletests(best.loc[tested.index, "p"], method="holm")[1]  # over the relations that were tested
    np.testing.assert_allclose(best.loc[tested.index, "p_holm"], holm)
    (by_head,), (by_offset,) = (result.numbers("mean_accuracy", by=by) for by in ("best_head", "best_offset"))
    assert by_head.value == pytest.approx(best.loc[tested.index, "accuracy"].mean())
    assert by_offset.value == pytest.approx(best.loc[tested.index, "offset_accuracy"].mean())
    assert by_offset.n == len(tested) and by_offset.label == "mean over relations, best fixed offset"
    told = relations.sentence(result)
    assert told.main == result["beating_offset"].value / len(tested) and relations.compared
    assert told.sentence.startswith(
        f"In {result['beating_offset'].value:.0f} of {len(tested)} relations, the best head finds"
    )
    assert {number.key for number in result.headline} == {
        key for key in relations.numbers if not key.endswith("_random")
    }


def test_frames_are_scored_in_all_sentences_and_tested_as_the_relation_is(answered):
    result, _, frames, *_ = answered
    found = result.tables["frames"].set_index(["layer", "head"]).sort_index()
    means = frames.groupby(["layer", "head"])[["score", "maximum"]].agg(["mean", "size"])
    np.testing.assert_allclose(found["score"], means["score", "mean"], atol=1e-6)
    np.testing.assert_allclose(found["maximum"], means["maximum", "mean"], atol=1e-6)
    assert (found["n"] == means["score", "size"]).all() and ((found["low"] < found["score"]).all())
    # Its difference and p are those of the relation, to the target; corrected for the heads alone.
    heads = result.tables["heads"].set_index(["relation", "direction", "layer", "head"]).sort_index()
    element = heads.loc["frame_element", "to_target"]
    for column in ("control", "difference", "p"):
        np.testing.assert_allclose(found[column], element[column])
    assert (found["n_compared"] == element["n"]).all() and 2 < element["n"].iloc[0] < found["n"].iloc[0]
    np.testing.assert_allclose(found["p_holm"], multipletests(found["p"], method="holm")[1])
    top = found["score"].idxmax()
    highest = result["highest_frame_score"]
    assert highest.of["unit"] == f"head:{top[0]}.{top[1]}" and f"({highest.of['unit']})" in highest.label
    assert highest.value == found["score"].max() and highest.low is None, "picked as the highest: no interval"
    assert (result["frame_heads"].value, result["frame_heads"].n) == (found["certain"].sum(), 12)


def test_a_head_below_the_offset_does_not_beat_it(pocket):
    """`of` follows its head in every sentence: the offset is always right, heads that attend to all alike are not."""
    result = relations(planted(pocket.tokenizer, ("uniform", "sep")), sentences(120), CONFIG)
    case = result.tables["best"].set_index("relation").loc["case"]
    assert case["offset_accuracy"] == 1 and case["difference"] < -0.5 and case["p_holm"] < 0.001
    assert not case["beats"]
    beating = result["beating_offset"]
    assert beating.value == result.tables["best"]["beats"].sum() and beating.n == 2


def test_a_head_that_gives_less_than_to_control_pairs_is_not_certain(pocket):
    """Verb, filler, noun, filler: a link from filler to filler has one control of its shape, from verb to noun."""
    rows = [(VERBS[n % 8], FILLERS[n % 8], NOUNS[n % 8], FILLERS[(n + n // 8) % 8]) for n in range(24)]
    ids, text = zip(*((str(at), " ".join(words)) for at, words in enumerate(rows)), strict=True)
    examples = Examples(ids, text, words=tuple(rows), links=((Link("x", (1,), (3,), "Frame"),),) * 24)
    frames = relations(planted(pocket.tokenizer), examples, CONFIG).tables["frames"].set_index("head")
    match = frames.loc[HEADS.index("match") + 1]
    assert match["control"] > 0.7 and match["difference"] < -0.7 and match["p_holm"] < 0.001 and not match["certain"]


def test_a_head_that_moves_nothing_finds_nothing_by_weighted_attention(pocket):
    """What the head that finds every object puts out is never read."""
    model = planted(pocket.tokenizer)
    match = HEADS.index("match")
    with torch.no_grad():
        model.layers[0].attention.output.dense.weight[:, match * 48 : (match + 1) * 48].zero_()
    plain, weighted = (relations(model, sentences(60), replace(CONFIG, weighted=on)) for on in (False, True))
    for result, found in ((plain, 1), (weighted, 0)):
        heads = result.tables["heads"].set_index(["relation", "direction", "head"])
        assert heads.loc[("obj", DIRECTIONS[1], match + 1), "test_accuracy"] == found
        assert (heads.xs(match + 1, level="head")["test_accuracy"] > 0).any() == bool(found)
    assert weighted.subject["attention"] == "norm-weighted"


def test_sentences_that_are_too_long_are_left_out_whole(tiny):
    examples = sentences(30)
    long = (*["very"] * 80, "dog")
    more = replace(
        examples,
        ids=(*examples.ids, "long"), text=(*examples.text, "long"), words=(*examples.words, long),
        governors=(*examples.governors, (ROOT, *[0] * 80)),
        marks={"relation": (*examples.marks["relation"], ("obj",) * 81)},
    )  # fmt: skip
    alone, both = relations(tiny, examples, CONFIG), relations(tiny, more, CONFIG)
    pd.testing.assert_frame_equal(alone.tables["heads"], both.tables["heads"], check_exact=False, atol=1e-5)
    assert "1 texts are longer than the model reads and were left out" in both.notes


def test_what_is_certain_is_more_than_any_head_of_random_weights_has():
    mine = pd.DataFrame({"relation": ["obj", "obj", "nsubj"], "direction": "to_target", "difference": [0.3, 0.1, 0.1],
                         "certain": [True, True, True]})  # fmt: skip
    twin = mine.assign(difference=[0.05, 0.2, 0.02], certain=False)
    found, beside = beyond_twins([mine, twin], 1)
    assert found["certain"].tolist() == [True, False, True] and not beside["certain"].any()
    assert beyond_twins([mine], 1)[0]["certain"].all()
