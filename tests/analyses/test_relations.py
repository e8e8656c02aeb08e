"""Relation heads against loops over single maps, tests against enumeration, and a planted truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ttest_1samp
from statsmodels.stats.multitest import multipletests

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.relations.measure import RelationReader
from bertscope.analyses.relations.pairs import OFFSETS, collect_pairs
from bertscope.analyses.relations.question import RelationsConfig, relations
from bertscope.analyses.relations.result import relations_result
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.core.statistics import holm, sign_flip_p, sign_flip_ps, t_test
from bertscope.models.batches import pieces_of_words
from plain_attention import plain_maps_of_words
from planted_features import HEADS, planted, sentences
from relation_units import one_piece, spelled
from three_sentences import EXAMPLES, WORDS

TREES = ((1, 6, 4, 4, 1, 6, ROOT, 6), (1, ROOT, 1), (1, ROOT, 6, 5, 5, 6, 1, 8, 6, 1))
MARKS = (
    ("det", "nsubj", "case", "det", "nmod", "advmod", "root", "punct"),
    ("nsubj:pass", "root", "punct"),
    ("nsubj", "root", "obj", "det", "amod", "nsubj", "ccomp", "case", "obl", "punct"),
)
LINKS = (
    (Link("Theme", (0, 1), (6,), "Leave"), Link("Manner", (5,), (6,), "Leave", core=False)),
    (),
    (Link("Speaker", (3, 4, 5), (6,)), Link("Speaker", (0,), (1,)), Link("Listener", (8,), (6, 7))),
)
TREEBANK = Examples(ids=EXAMPLES.ids, text=EXAMPLES.text, words=WORDS, governors=TREES, marks={"relation": MARKS})
BOTH = Examples(
    ids=EXAMPLES.ids, text=EXAMPLES.text, words=WORDS, governors=TREES, marks={"relation": MARKS}, links=LINKS
)


def result_of(encoders, examples, *, tokens=None, names=("a",), **config):
    config = RelationsConfig(**{"repeats": 200} | config)
    pairs = collect_pairs(
        examples,
        pieces_of_words(encoders[0].tokenizer, examples, encoders[0].max_length),
        subtypes=config.subtypes,
        core=config.core,
        validation_share=config.validation_share,
        seed=config.seed,
    )
    reader = RelationReader(pairs, examples.ids, repeats=config.repeats, seed=config.seed)
    passed = read_maps(encoders, examples, [reader], tokens=tokens)
    return relations_result(reader, passed, {name: ModelRecord(name, f"model {name}") for name in names}, config)


def test_pairs_are_those_of_trees_and_links():
    pairs = collect_pairs(BOTH, one_piece(BOTH))
    names = [pairs.names[at] for at in pairs.relation]
    ends = spelled(pairs, BOTH, pairs.ends)
    assert pairs.starts.tolist() == [0, 8, 10, 22]
    assert names[:10] == ["det", "nsubj", "case", "det", "nmod", "advmod", "punct", "frame_element", "nsubj", "punct"]
    assert ends[0] == [(0,), (1,)] and ends[7] == [(0, 1), (6,)] and names[-3:] == ["Speaker", "Speaker", "Listener"]
    assert ends[-3:] == [[(3, 4, 5), (6,)], [(0,), (1,)], [(8,), (6, 7)]]
    assert np.flatnonzero(pairs.framed).tolist() == [7], "the others are own relations"
    assert "nsubj:pass" in collect_pairs(BOTH, one_piece(BOTH), subtypes=True).names
    assert len(collect_pairs(BOTH, one_piece(BOTH), core=False).relation) == 23


def test_offsets_lead_from_the_nearer_end_of_a_span():
    pairs = collect_pairs(BOTH, one_piece(BOTH))
    leading = [[set(OFFSETS[(bits >> np.arange(20) & 1) > 0].tolist()) for bits in both] for both in pairs.near]
    assert leading[0] == [{1}, {-1}]  # The <- keys
    assert leading[7] == [{5}, {-5, -6}]  # [The keys] ... disappeared
    assert leading[-1] == [{-2, -1}, {1}]  # them ... [whispered to]


@pytest.mark.parametrize("tokens", [16, 4096])
def test_sums_are_those_of_loops_over_plain_maps(pocket, tokens):
    """Every head of three layers, every pair in both directions, whole corpus in one half."""
    result = result_of([pocket], BOTH, tokens=tokens, validation_share=0.999999, least=2)
    found = result.tables["heads"].set_index(["relation", "direction", "layer", "head"])
    frames = result.tables["frames"].set_index(["layer", "head"])
    pairs = collect_pairs(BOTH, pieces_of_words(pocket.tokenizer, BOTH, pocket.max_length))
    ends = spelled(pairs, BOTH, pairs.ends)
    plain = [plain_maps_of_words(pocket, row) for row in range(3)]
    for layer, head in product((1, 3, 12), range(1, 13)):
        hits, scores, maxima = {}, {}, {}
        for pair, true in enumerate(ends):
            row = int(np.searchsorted(pairs.starts, pair, side="right") - 1)
            one = plain[row][0][layer - 1, head - 1]
            pieces = [[i for i, at in enumerate(plain[row][1]) if at == w] for w in range(len(WORDS[row]))]
            words = np.array([[one[np.ix_(a, b)].sum(1).mean() for b in pieces] for a in pieces])
            name = pairs.names[pairs.relation[pair]]
            for which, direction in enumerate(("to_target", "to_source")):
                source, target = true[which], true[1 - which]
                row_of = words[list(source)].mean(0)
                others = [word for word in range(len(pieces)) if word not in source]
                hits.setdefault((name, direction), []).append(max(others, key=row_of.__getitem__) in target)
            if pairs.framed[pair]:
                tokens_of = [[i for word in end for i in pieces[word]] for end in true]
                alike = len(tokens_of[1]) / len(one)  # of a head that attends to all tokens alike
                scores[row] = words[list(true[0])].mean(0)[list(true[1])].sum() - alike
                maxima[row] = max(one[i, j] for i, j in product(*tokens_of))
        for key in hits:
            assert found.loc[(*key, layer, head), "validation_accuracy"] == pytest.approx(np.mean(hits[key]))
        assert frames.loc[layer, head]["score"] == pytest.approx(np.mean(list(scores.values())), abs=1e-5)
        assert frames.loc[layer, head]["maximum"] == pytest.approx(np.mean(list(maxima.values())), abs=1e-5)
        assert frames.loc[layer, head]["n"] == 1


def test_planted_heads_are_found_and_only_content_beats_the_offset(pocket):
    result = result_of([planted(pocket.tokenizer)], sentences(160))
    best = result.tables["best"].set_index("relation")
    case, obj = best.loc["case"], best.loc["obj"]
    assert (HEADS[case["head"] - 1], case["direction"]) == ("previous", "to_target")
    assert (case["accuracy"], case["offset"], case["offset_accuracy"]) == (1, -1, 1)
    assert case["difference"] == 0 and case["p"] == 1 and not case["beats"]
    assert (HEADS[obj["head"] - 1], obj["direction"]) == ("match", "to_source")
    assert obj["accuracy"] == 1 and obj["offset_accuracy"] < 0.5 and obj["difference_low"] > 0.3 and obj["beats"]
    assert result["beating_offset"].value == 1
    # The head that looks one back attends to control pairs as much: it knows the distance, not the relation. What all
    # tokens alike would get of it is no part of its attention: a word of 14 to 20 tokens, mostly.
    heads = result.tables["heads"].set_index(["relation", "direction", "head"])
    back = heads.loc[("case", "to_target", HEADS.index("previous") + 1)]
    assert (
        back["attention"] > 0.9 and back["control"] > 0.9 and abs(back["difference"]) < 0.01 and not back["certain"]
    )
    known = heads.loc[("obj", "to_source", HEADS.index("match") + 1)]
    assert known["attention"] > 0.9 and known["control"] < 0.1 and known["p_holm"] < 1e-6 and known["certain"]


def test_the_best_head_is_scored_where_it_was_not_chosen(pocket):
    result = result_of([planted(pocket.tokenizer)], sentences(40), least=2)
    heads = result.tables["heads"]
    for _, row in result.tables["best"].iterrows():
        mine = heads[heads["relation"] == row["relation"]]
        top = mine.loc[mine["validation_accuracy"].idxmax()]
        same = mine[(mine["head"] == row["head"]) & (mine["direction"] == row["direction"])].iloc[0]
        assert same["validation_accuracy"] == top["validation_accuracy"]
        assert row["accuracy"] == pytest.approx(same["test_accuracy"])


def test_nothing_moves_with_batches_order_or_padding(tiny):
    examples = sentences(60)
    order = np.random.default_rng(1).permutation(60)
    forward = result_of([tiny], examples, tokens=4096)
    backward = result_of([tiny], examples.take(order), tokens=64)
    for name, table in forward.tables.items():
        pd.testing.assert_frame_equal(table, backward.tables[name], check_exact=False, atol=1e-5, rtol=1e-5)


def test_rare_relations_are_listed_and_not_tested(pocket, tmp_path):
    result = result_of([pocket, pocket], BOTH, names=("a", "b"))
    best = result.tables["best"]
    assert len(best) == 2 * len(collect_pairs(BOTH, one_piece(BOTH)).names) and best["p"].isna().all()
    assert "too rare to be tested (under 20 pairs to score)" in result.notes[0]
    assert result.notes[1] == "frames: a low-powered sample of 1 sentence; the paper has 473"
    assert Result.load(result.save(tmp_path / "result")).equals(result)


def test_words_that_were_cut_off_make_no_pairs(tiny):
    words = (("dog", *["very"] * 80, "garden"), ("the", "dog"))
    heads = ((1, *[ROOT] * 80, 0), (1, ROOT))
    links = ((Link("far", (0, 81), (2,)), Link("near", (0, 1), (2,))), ())
    examples = Examples(ids=("a", "b"), text=("a", "b"), words=words, governors=heads, links=links)
    pairs = collect_pairs(examples, pieces_of_words(tiny.tokenizer, examples, tiny.max_length))
    reader = RelationReader(pairs, examples.ids)
    passed = read_maps([tiny], examples, [reader])
    assert passed.truncated == 1
    assert dict(zip(pairs.names, np.asarray(reader.counts).sum(0), strict=True)) == {"far": 0, "head": 2, "near": 1}


def test_layers_that_were_cut_keep_their_own_number_of_heads(tiny):
    result = result_of([tiny.cut(["head:1.2", "heads:2"])], BOTH, least=2)
    assert result.tables["heads"].groupby("layer")["head"].nunique().to_dict() == {1: 3, 3: 4}
    assert result.tables["frames"].groupby("layer").size().to_dict() == {1: 3, 3: 4}


@pytest.mark.parametrize("differences", [[1, 1, 1, -1, 0], [2, -1, 3, 1, 1, -2], [0, 0], [1, 1, 1, 1], [3, 2, 2]])
def test_sign_flips_against_all_signs(differences):
    differences = np.array(differences)
    sums = [np.dot(signs, differences) for signs in product((-1, 1), repeat=len(differences))]
    assert sign_flip_p(differences) == pytest.approx(np.mean(np.abs(sums) >= abs(differences.sum())))


def test_sign_flips_of_ones_are_mcnemars_test():
    differences = np.array([1] * 30 + [-1] * 12 + [0] * 50)
    assert sign_flip_p(differences) == pytest.approx(binomtest(12, 42).pvalue)


def test_sign_flips_of_other_sums_of_the_same_differences():
    differences = np.array([2, -1, 3, 1, 1, -2])
    signs = np.array(list(product((-1, 1), repeat=6)))
    found = sign_flip_ps(differences, signs @ differences)
    np.testing.assert_allclose(found, [sign_flip_p(one * differences) for one in signs])


def test_students_t_from_sums():
    values = np.random.default_rng(5).normal(0.2, 1, (60, 3))
    found = t_test(values.sum(0), (values**2).sum(0), 60)
    np.testing.assert_allclose(found, ttest_1samp(values, 0).pvalue)
    assert t_test(np.zeros(1), np.zeros(1), 5).tolist() == [1], "nothing differs at all"
    assert t_test(np.full(1, 5.0), np.full(1, 5.0), 5).tolist() == [0], "all differ alike"
    assert np.isnan(t_test(np.ones(1), np.ones(1), 1)).all()


def test_holm_is_that_of_statsmodels():
    p = np.random.default_rng(2).random(40) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_the_question(pocket):
    result = relations([pocket, pocket], TREEBANK, RelationsConfig(repeats=100))
    assert (
        list(result.models) == [pocket.id, f"{pocket.id}-2"] == result.tables["best"]["checkpoint"].unique().tolist()
    )
    shown = result.in_words()
    assert set(shown.tables["best"]["checkpoint"]) == {"pocket", "pocket (2)"}
    assert set(shown.tables["heads"]["direction"]) == {"source to target", "target to source"}
    assert "frames" not in result.tables and result.subject == {} and result.about == "pocket and pocket (2)"
    assert [figure.key for figure in result.figures] == [f"relations_{pocket.id}", f"relations_{pocket.id}_2"]


def test_texts_without_relations_are_refused(tiny, texts):
    with pytest.raises(UserError, match="no relations between words"):
        relations(tiny, texts)
    alone = Examples(ids=("a",), text=("dog",), words=(("dog",),), governors=((ROOT,),))
    with pytest.raises(UserError, match="no word of these texts"):
        relations(tiny, alone)


@pytest.mark.parametrize("settings", [{"validation_share": 1}, {"least": 1}, {"repeats": 5}, {"seed": -1}])
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(UserError):
        RelationsConfig(**settings)
