"""Control pairs: what they are like, that nothing is found where there is nothing, and what makes no pairs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertscope.analyses.relations.against_controls import found_by_chance
from bertscope.analyses.relations.pairs import collect_pairs
from bertscope.analyses.relations.question import RelationsConfig, relations
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.null_panel import DRAWS, fails, most
from bertscope.models.batches import pieces_of_words
from bertscope.models.load import load
from bertscope.models.new_task_head import with_random_weights
from device import DEVICE
from families import tiny_model
from planted_features import planted, sentences
from relation_units import one_piece, spelled, spelled_controls

CONFIG = RelationsConfig(repeats=100, least=7)
SHORT = {"NOUN": ("dog", "house", "road", "door"), "VERB": ("saw", "took", "made", "left")}
LONG = {"NOUN": ("gardeners", "cabinetmaker", "paperweights"), "VERB": ("whispered", "unravelled", "disbelieved")}


def tagged(n: int = 150, seed: int = 0) -> Examples:
    """Nouns and verbs in any order, and punctuation. A word in the relation has several pieces more often than others
    do, and where it is linked is chance: nothing but the number of pieces tells pairs from other words."""
    random = np.random.default_rng(seed)
    words, tags, governors, marks, links = [], [], [], [], []
    for _ in range(n):
        length = int(random.integers(10, 16))
        kinds = random.choice(["NOUN", "VERB", "PUNCT"], length, p=[0.45, 0.45, 0.1])
        plain = np.flatnonzero(kinds != "PUNCT")
        source = int(random.choice(plain[:-3]))
        target = int(random.choice(plain[plain > source + 1]))
        linked = np.isin(np.arange(length), [source, target])
        longer = random.random(length) < np.where(linked, 0.7, 0.2)
        words.append(tuple(
            str(random.choice((LONG if many else SHORT)[kind])) if kind != "PUNCT" else "," for kind, many
            in zip(kinds, longer, strict=True)
        ))  # fmt: skip
        tags.append(tuple(map(str, kinds)))
        governors.append(tuple(target if word == source else ROOT for word in range(length)))
        marks.append(tuple("obj" if word == source else "root" for word in range(length)))
        links.append((Link("Theme", (source,), (target,), "Frame"),))
    ids, text = zip(*((f"s{row}", " ".join(one)) for row, one in enumerate(words)), strict=True)
    return Examples(ids, text, words=tuple(words), governors=tuple(governors), links=tuple(links),
                    marks={"relation": tuple(marks), "pos": tuple(tags)})  # fmt: skip


def described(examples, pieces, row, ends):
    """What a control must share with its pair."""
    first = min(min(end) for end in ends)
    before = sum(map(len, examples.words[:row]))
    tags = examples.marks["pos"][row] if "pos" in examples.marks else None
    return [
        (
            tuple(word - first for word in end), [tags[word] for word in end] if tags else None,
            sum(pieces[before + word] for word in end),
        )
        for end in ends
    ]  # fmt: skip


@pytest.mark.parametrize("with_tags", [True, False])
def test_controls_are_alike_but_for_the_relation_and_no_sentence_is_used_twice(pocket, with_tags):
    examples = tagged()
    if not with_tags:
        examples = replace(examples, marks={"relation": examples.marks["relation"]})
    pieces = pieces_of_words(pocket.tokenizer, examples, pocket.max_length)
    assert pieces.max() > 1 and pieces.min() == 1
    pairs = collect_pairs(examples, pieces)
    ends, controls = spelled(pairs, examples, pairs.ends), spelled_controls(pairs, examples)
    rows = np.repeat(np.arange(len(examples)), np.diff(pairs.starts))
    assert sorted(controls) == pairs.with_control.tolist()
    elsewhere = 0
    for name in range(len(pairs.names)):
        mine = np.flatnonzero(pairs.relation == name)
        standing = {(rows[pair], *order) for pair in mine for order in (ends[pair], ends[pair][::-1])}
        used = []
        for pair in set(mine.tolist()) & set(controls):
            row, moved = controls[pair]
            assert described(examples, pieces, row, moved) == described(examples, pieces, rows[pair], ends[pair])
            assert (row, *moved) not in standing
            assert all(examples.words[row][word] != "," for end in moved for word in end)
            used += {row, rows[pair]}
            elsewhere += row != rows[pair]
        assert len(used) == len(set(used)) and len(used) > 40
    assert elsewhere > 20 and len(controls) > elsewhere


def test_controls_belong_to_the_example_not_to_its_place():
    examples = tagged(60)
    order = np.random.default_rng(3).permutation(60)
    shuffled = examples.take(order)
    there, here = (collect_pairs(one, one_piece(one)) for one in (examples, shuffled))

    def named(pairs, corpus):
        rows = np.repeat(np.arange(len(corpus)), np.diff(pairs.starts))
        return {
            (corpus.ids[rows[pair]], pair - int(pairs.starts[rows[pair]])): (corpus.ids[row], ends)
            for pair, (row, ends) in spelled_controls(pairs, corpus).items()
        }

    assert named(there, examples) == named(here, shuffled)
    assert named(collect_pairs(examples, one_piece(examples), seed=1), examples) != named(there, examples)


def without_queries(family, tokenizer):
    """A model whose heads attend to all keys alike that they may."""
    model = tiny_model(family).to(DEVICE)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "query" in name:
                weight.zero_()
            elif "Wqkv" in name:
                weight[: len(weight) // 3].zero_()
    return load(model, tokenizer=tokenizer)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_uniform_attention_scores_exactly_0(pocket, family, weighted):
    """Words of several pieces, also where a layer looks at a window only, and whatever the vectors' lengths are."""
    result = relations(without_queries(family, pocket.tokenizer), tagged(60), replace(CONFIG, weighted=weighted))
    tested = result.tables["heads"].dropna(subset="p")
    assert len(tested) and (tested[["attention", "control", "difference"]] == 0).all(axis=None)
    assert (tested["p"] == 1).all() and not tested["certain"].any()
    frames = result.tables["frames"]
    assert (frames[["score", "low", "high", "difference"]] == 0).all(axis=None) and not frames["certain"].any()
    assert (frames["maximum"] > 0).all(), "the paper's score isn't 0"


def test_random_weights_find_nothing_where_only_pieces_differ(tiny):
    """Version 3 found most of them: attention to a word grows with its pieces. A model's heads err together, so that
    it takes several corpora to see how often."""
    shares, findings = [], 0
    for seed in range(10):
        result = relations(with_random_weights(tiny, seed), tagged(100, seed), CONFIG)
        heads = result.tables["heads"]
        shares.append((heads[heads["relation"] == "obj"]["p"] < 0.05).mean())
        findings += heads["certain"].any() + result.tables["frames"]["certain"].any()
    assert np.mean(shares) < 0.15 and findings <= 3


def test_with_null_the_panel_and_random_weights_stand_beside_the_model(pocket):
    model = planted(pocket.tokenizer)
    result = relations(model, sentences(160), replace(CONFIG, null=True))
    table = result.tables["null"].set_index(["table", "relation"])
    assert set(table.index) == {("best", ""), ("heads", "case"), ("heads", "obj")}
    assert (table["draws"] == DRAWS).all() and table["passes"].all() and not fails(result)
    assert any("null panel: passes" in note for note in result.notes)
    numbers = {number.key: number.value for number in result.headline}
    twin = relations(with_random_weights(model, CONFIG.seed), sentences(160), CONFIG)
    for key in ("above_controls", "beating_offset"):
        assert numbers[f"{key}_random"] == twin[key].value and numbers[key] > 0
    heads = result.tables["heads"]
    np.testing.assert_allclose(heads["random_weights"], twin.tables["heads"]["difference"], atol=1e-6)
    assert heads.loc[heads["certain"], "difference"].min() > 10 * heads["random_weights"].abs().max()
    assert list(result.models) == [model.id], "the random twin is no model of its own"
    plain = relations(model, sentences(160), CONFIG)
    assert "null" not in plain.tables and "random_weights" not in plain.tables["heads"]
    assert plain.tables["heads"].equals(heads.drop(columns="random_weights"))


@pytest.mark.parametrize(("copies", "passes"), [(1, True), (4, False)])
def test_the_panel_fails_where_pairs_that_go_together_are_taken_for_independent(copies, passes):
    """Heavy tails and 80 pairs are no trouble; four copies of 80 pairs, taken for 320, are."""
    values = np.random.default_rng(1).standard_t(2, (80, 2, 30))
    keys = np.random.default_rng(2).integers(2**62, size=80).astype(np.uint64)
    pairs = SimpleNamespace(
        names=("obj",), control_relation=np.zeros(80 * copies, int), control_keys=np.tile(keys, copies),
        has_frames=False,
    )  # fmt: skip
    sums = SimpleNamespace(differences=lambda of: np.tile(values, (copies, 1, 1))[of])
    ((name, found),) = found_by_chance(SimpleNamespace(pairs=pairs), sums, 20)
    assert name == "obj" and len(found) == DRAWS and ((found > 0).sum() <= most(DRAWS)) == passes


def test_how_many_pairs_are_compared_is_said(tiny):
    examples = tagged(40)
    result = relations(tiny, examples, CONFIG)
    compared = result.tables["heads"].drop_duplicates("relation")["n"].sum()
    assert f"{compared:.0f} of 80 pairs are compared with a control pair" in result.notes[0]
    bare = relations(tiny, replace(examples, marks={"relation": examples.marks["relation"]}), CONFIG)
    assert "the corpus has no parts of speech: control pairs may be of other ones" in bare.notes


def test_equal_sentences_are_in_the_same_half_and_seeds_give_other_halves():
    once = sentences(60)
    twice = replace(once.take([*range(60)] * 2), ids=tuple(map(str, range(120))))
    halves = collect_pairs(twice, one_piece(twice)).chooses
    assert (halves[:60] == halves[60:]).all() and 15 < halves[:60].sum() < 45
    assert (
        collect_pairs(once, one_piece(once), seed=1).chooses != collect_pairs(once, one_piece(once)).chooses
    ).any()


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
    assert collect_pairs(examples, one_piece(examples)).names == ("near",)
    assert result.notes[:2] == [
        "1 of 3 links have a word at both ends: left out", "1 of 3 links aren't core: left out"
    ]  # fmt: skip
    for only, reason in (((links[1],), "1 of 1 links have a word at both ends"), ((links[2],), "aren't core")):
        with pytest.raises(UserError, match=f"no word of these texts .*{reason}"):
            relations(tiny, replace(examples, links=(only,)), CONFIG)
