"""The tables of `relations` against pairs counted one by one in plain maps, with scipy's and statsmodels' tests."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import torch
from scipy.stats import permutation_test, ttest_rel
from statsmodels.stats.multitest import multipletests

from bertscope.analyses.relations.pairs import collect_pairs
from bertscope.analyses.relations.question import RelationsConfig, relations
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from planted_features import FILLERS, HEADS, NOUNS, VERBS, planted, sentences
from relation_units import spelled

CONFIG = RelationsConfig(repeats=100, least=7)
DIRECTIONS = ("to_target", "to_source")
KINDS = ("a", "a", "a", "a", "b", "b", "c")


def corpus(n: int = 40) -> Examples:
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
    pairs = collect_pairs(examples)
    ends, controls = (spelled(pairs, examples, units) for units in (pairs.ends, pairs.controls))
    rows, frames = [], []
    for sentence in range(len(examples)):
        maps, pieces = pieces_of(encoder, examples.words[sentence])
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
                if controls[pair][0]:
                    control = words[list(controls[pair][which])].mean(0)[list(controls[pair][1 - which])].sum()
                which = {"relation": pairs.names[pairs.relation[pair]], "direction": direction}
                hit = {"pair": pair, "hit": found in target, "attention": given[list(target)].sum()}
                rows.append(where | which | hit | {"control": control})
            scored = [[], []]
            for pair in (pair for pair in mine if pairs.framed[pair]):
                for (a, b), scores in zip((ends[pair], controls[pair]), scored, strict=True):
                    tokens = [[i for word in end for i in pieces[word]] for end in (a, b)]
                    scores.append(max((one[i, j] for i, j in product(*tokens)), default=np.nan))
            if scored[0]:
                frames.append(where | {"score": max(scored[0]), "control": np.max(scored[1])})  # NaN if one lacks it
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
    assert set(never.index.get_level_values(0)) == {"y"} and (never["n"] == 0).all() and never["p"].isna().all()


def test_control_pairs_are_tested_with_sentences_as_units_and_holm_over_the_relations_heads(answered):
    result, rows, *_ = answered
    heads = result.tables["heads"].set_index(KEYS).sort_index()
    paired = rows.dropna(subset="control").assign(apart=lambda row: row["attention"] - row["control"])
    for relation, of_relation in paired.groupby("relation"):
        few = of_relation["pair"].nunique() < CONFIG.least
        assert heads.loc[relation]["p"].isna().all() == few
        if few:
            continue
        p = {}
        for key, mine in of_relation.groupby(KEYS):
            fitted = sm.OLS(mine["apart"].to_numpy(), np.ones(len(mine))).fit(
                cov_type="cluster", cov_kwds={"groups": mine["sentence"].to_numpy()}, use_t=True
            )
            p[key] = fitted.pvalues[0]
        wanted = pd.Series(p).sort_index()
        np.testing.assert_allclose(heads.loc[wanted.index, "p"], wanted, rtol=1e-3)
        corrected = multipletests(wanted, method="holm")[1]  # all heads of all layers, both directions
        np.testing.assert_allclose(heads.loc[wanted.index, "p_holm"], corrected, rtol=1e-3)
        assert len(wanted) == 24 and (corrected > wanted).any()


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
        f"In {result['beating_offset'].value:.0f} of {len(tested)} relations a head finds"
    )
    assert {number.key for number in result.headline} == set(relations.numbers)


def test_frame_scores_are_compared_where_all_links_have_a_control(answered):
    result, _, frames, *_ = answered
    found = result.tables["frames"].set_index(["layer", "head"])
    p = []
    for key, mine in frames.groupby(["layer", "head"]):
        both = mine.dropna()
        assert 2 < len(both) < len(mine)
        row = found.loc[key]
        assert (row["n"], row["n_compared"]) == (len(mine), len(both))
        assert row["score"] == pytest.approx(mine["score"].mean(), abs=1e-6)
        assert row["control"] == pytest.approx(both["control"].mean(), abs=1e-6)
        assert row["difference"] == pytest.approx((both["score"] - both["control"]).mean(), abs=1e-6)
        p.append(ttest_rel(both["score"], both["control"]).pvalue)
        assert row["p"] == pytest.approx(p[-1], rel=1e-3)
    np.testing.assert_allclose(found["p_holm"], multipletests(p, method="holm")[1], rtol=1e-3)
    top = found["score"].idxmax()
    highest = result["highest_frame_score"]
    assert highest.of["unit"] == f"head:{top[0]}.{top[1]}" and f"({highest.of['unit']})" in highest.label
    assert highest.value == found["score"].max() and highest.low is None, "picked as the highest: no interval"


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
    assert match["control"] > 0.9 and match["difference"] < -0.7 and match["p_holm"] < 0.001 and not match["certain"]


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


def test_equal_sentences_are_in_the_same_half_and_seeds_give_other_halves():
    once = sentences(60)
    twice = replace(once.take([*range(60)] * 2), ids=tuple(map(str, range(120))))
    halves = collect_pairs(twice).chooses
    assert (halves[:60] == halves[60:]).all() and 15 < halves[:60].sum() < 45
    assert (collect_pairs(once, seed=1).chooses != collect_pairs(once).chooses).any()


def test_own_relations_are_no_frames(tiny):
    """They have no frame score: it would mix what has nothing in common, and pass for one of FrameNet's."""
    words = (("Anna", "gave", "it", "away"),) * 3
    links = ((Link("Donor", (0,), (1,)), Link("Theme", (2,), (1,))),) * 3
    result = relations(tiny, Examples(("a", "b", "c"), ("a", "b", "c"), words=words, links=links), CONFIG)
    assert set(result.tables["best"]["relation"]) == {"Donor", "Theme"} and "frames" not in result.tables
    assert not any("frame" in text for text in (*result.notes, *(number.key for number in result.headline)))


def test_links_that_make_no_pairs_are_said(tiny):
    words = (("Anna", "gave", "it", "away"),)
    links = (Link("near", (0,), (1,)), Link("over", (0, 1), (1,)), Link("rim", (3,), (1,), core=False))
    examples = Examples(("a",), ("Anna gave it away",), words=words, links=(links,))
    result = relations(tiny, examples, CONFIG)
    assert collect_pairs(examples).names == ("near",)
    assert result.notes[:2] == [
        "1 of 3 links have a word at both ends: left out", "1 of 3 links aren't core: left out"
    ]  # fmt: skip
    for only, reason in (((links[1],), "1 of 1 links have a word at both ends"), ((links[2],), "aren't core")):
        with pytest.raises(UserError, match=f"no word of these texts .*{reason}"):
            relations(tiny, replace(examples, links=(only,)), CONFIG)
