"""`lottery`: every training a stored step, arms compared on the same seeds and examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.agreement import kappa_interval, kept_by_four_interval
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.read import read_task, task_root
from bertscope.experiments.lottery.measure import _agreement
from bertscope.experiments.lottery.question import LotteryConfig, lottery, plan
from bertscope.experiments.lottery.ticket import TicketConfig, _right_on_hans, ticket
from bertscope.experiments.subnetworks import Subnetwork, draw
from bertscope.models.load import load
from bertscope.models.masks import prunable, split
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from bertscope.training.finetune.question import FinetuneConfig, finetune
from families import tiny_model
from quick_configs import QUICK_LOTTERY
from running import made_by
from short_training import make_task
from toy import write_reviews


@pytest.fixture
def rows(tmp_path):
    return write_reviews(tmp_path / "rows.csv", 120)


@pytest.fixture
def step(tmp_path, tiny, rows):
    return plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), QUICK_LOTTERY)


@pytest.mark.slow
def test_the_whole_of_it(tmp_path, step):
    store = Store(tmp_path / "store")
    made = made_by(step, store)
    # Two fine-tunings; for each and both methods a pruning and four tickets; for s the super-survivors' three.
    assert {name: made.count(name) for name in set(made)} == {"finetune": 2, "prune": 4, "ticket": 22, "lottery": 1}
    result = store.result(step)
    arms = result.tables["arms"].set_index(["method", "arm", "stage"])
    assert len(arms) == 2 + 2 * 7 + 2 * 3
    for method in ("s", "m"):  # subnetworks of one method and seed have one size
        of_method = arms.loc[method].loc[["good", "random", "bad", "reinit"], "left"]
        assert of_method.nunique() == 1 and 0 < of_method.iloc[0] <= 1
    assert arms["low"].isna().all()  # two seeds: no interval
    assert arms.loc[("", "majority", ""), "score"] == 0.5
    scores = result.tables["scores"]
    for key, group in scores.groupby(["method", "arm", "stage"]):
        assert arms.loc[key, "score"] == pytest.approx(group["score"].mean())
        assert arms.loc[key, "sd"] == pytest.approx(group["score"].std())
    survivors = result.tables["survivors"]
    heads = result.tables["agreement"].set_index("parts").loc["heads"]
    assert survivors.query("kind == 'head'")["survived"].sum() / 2 == heads["survive"]
    assert (survivors["survived"] == 2).sum() == result.tables["agreement"]["in_every_seed"][:2].sum()
    named = survivors["seeds"].str.split(", ").map(lambda seeds: len(set(seeds) - {""}))
    assert (named == survivors["survived"]).all() and set(",".join(survivors["seeds"])) <= set("01, ")
    assert made_by(step, store) == []
    assert {number.key for number in result.headline} == set(lottery.numbers) - {"kept_by_four"}  # of two seeds
    for number in result.numbers(key="score"):
        method, stage = number.of.get("method", ""), number.of.get("stage", "fine_tuned")
        assert number.value == arms.loc[(method, number.of["arm"], stage), "score"]
    assert result.headline[0].of == {"arm": "good", "stage": "retrained", "method": "s"}  # the main one
    assert [number.label for number in result.headline[:4]] == [
        "good, retrained, s", "full", "majority", "good, pruned, s",
    ]  # fmt: skip
    assert (result["chance"].value, result["chance"].n) == (0.5, len(read_task(step.inputs["task"].source).test))
    assert [number.value for number in result.numbers(key="survive", parts="heads")] == [heads["survive"]]
    assert [figure.key for figure in result.figures] == [
        "arms_s", "arms_m", "steps", "surviving_heads", "surviving_mlps", "weights", "overlaps",
    ]  # fmt: skip
    assert list(result.models) == [load(tmp_path / "tiny").id] and list(result.subject) == ["task"]
    told = lottery.sentence(result)
    prunings = result.tables["prunings"]
    for number in result.numbers(key="misses"):
        mine = prunings[prunings["method"] == number.of["method"]]
        assert (number.value, number.n) == ((mine["above_bar"] < 0).sum(), 2)
        assert mine["left"].mean() == pytest.approx(arms.loc[(number.of["method"], "good", "retrained"), "left"])
    assert (prunings["left_low"] <= prunings["left"]).all() and "Not trained again, " in told.sentence
    assert "heads and MLPs" in set(result.in_words().tables["steps"]["phase"])
    assert told.main == arms.loc[("s", "good", "retrained"), "left"] and "(2 seeds, s-pruning)" in told.sentence


@pytest.mark.slow
def test_results_say_which_they_are_so_that_their_order_is_nothing(tmp_path, tiny, rows):
    config = replace(QUICK_LOTTERY, seeds=(3, 1), epochs=1)
    step = plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), config)
    store = Store(tmp_path / "store")
    run_steps([step], store)
    given: dict[str, list[Result]] = {}
    for name, one in step.inputs.items():
        if name != "task":
            given.setdefault(name.partition(".")[0], []).append(store.result(one))
    task, generator = read_task(rows), np.random.default_rng(0)

    def asked(**more: list[Result]) -> Result:
        mixed = {name: [some[at] for at in generator.permutation(len(some))] for name, some in (given | more).items()}
        return lottery.compute(**mixed, task=task, config=config)

    assert asked().equals(store.result(step)) and asked().equals(store.result(step))
    steps = store.result(step).tables["steps"]
    for name, one in step.inputs.items():
        if name.startswith("pruned."):
            method, seed = one.config["method"], one.inputs["model"].config["seed"]
            mine = steps[(steps["method"] == method) & (steps["seed"] == seed)]
            assert mine["score"].tolist() == store.result(one).tables["steps"]["score"].tolist()
    # Of each seed, the heads that survived with it are all vertical; by what they carry, none is.
    found = asked(shapes=[
        _shapes(one, *kinds, **of)
        for one in given["pruned"] if one.subject["method"] == "s"
        for kinds, of in ((("vertical", "block"), {}), (("block", "vertical"), {"attention": "norm-weighted"}))
    ])  # fmt: skip
    survivors = found.tables["classes"].query("of == 'survivors' and share > 0")
    assert survivors[["low", "high"]].isna().all(None)  # two seeds are no interval
    assert list(zip(survivors["attention"], survivors["class"], survivors["share"], strict=True)) == [
        ("raw", "vertical", 1.0), ("norm_weighted", "block", 1.0),
    ]  # fmt: skip
    shown = found.in_words().tables["classes"]
    assert set(shown["attention"]) == {"raw", "norm-weighted"} and set(shown["of"]) == {"all heads", "survivors"}


@pytest.mark.slow
def test_differences_are_those_of_the_table(tmp_path, tiny, rows):
    one = plan(
        model_root(tiny.save(tmp_path / "tiny")), task_root(rows), replace(QUICK_LOTTERY, methods=("s",), seeds=(3,))
    )
    run_steps([one], tmp_path / "store")
    result = Store(tmp_path / "store").result(one)
    arms = result.tables["arms"].set_index(["arm", "stage"])
    for _, row in result.tables["comparisons"].iterrows():
        apart = arms.loc[(row["arm"], row["stage"]), "score"] - arms.loc[(row["against"], row["stage"]), "score"]
        assert row["difference"] == pytest.approx(apart)
        assert row["low"] <= row["difference"] <= row["high"]
    for _, row in result.tables["gains"].iterrows():
        again, before = (arms.loc[(row["arm"], stage), "score"] for stage in ("retrained", "pruned"))
        assert row["gain"] == pytest.approx(again - before) and row["low"] <= row["gain"] <= row["high"]
    assert result.tables["gains"]["arm"].tolist() == ["good", "random", "bad"]  # reinit isn't scored as pruned
    assert np.isnan(result.tables["agreement"]["kappa"]).all()  # one rater agrees with nobody


def test_a_ticket_holds_its_mask_and_starts_from_the_pretrained_weights(tmp_path, tiny, monkeypatch):
    task = make_task()
    tuned = finetune(tiny, task, FinetuneConfig(epochs=1, learning_rate=2e-3)).encoder
    size = sum(parameter.numel() for parameter in prunable(tuned).values())
    kept = np.random.default_rng(0).random(size) < 0.5
    found = _pruned("m", kept)
    made = ticket(tiny, task, tuned, [found], config=TicketConfig("good", 0, epochs=2, learning_rate=2e-3))
    masks = split(made.encoder, kept)
    start = dict(tiny.model.base_model.named_parameters())
    moved = []
    for name, parameter in prunable(made.encoder).items():
        after, on = parameter.detach().cpu().numpy(), masks[name]
        assert (after[~on] == 0).all(), name
        moved.append(np.abs(after[on] - start[name].detach().cpu().numpy()[on]).max())
    assert 0 < max(moved) < 0.2  # trained, but from where pre-training left it
    assert made.result["left"].value == pytest.approx(0.5, abs=0.02)
    assert {number.key for number in made.result.headline} == set(ticket.numbers)
    assert [number.label for number in made.result.headline[:3]] == ["retrained", "pruned", "full"]


def test_a_ticket_of_parts_is_really_smaller(tmp_path, tiny):
    task = make_task()
    tuned = finetune(tiny, task, FinetuneConfig(epochs=1, learning_rate=2e-3)).encoder
    kept = np.ones(15, bool)
    kept[[0, 5, 13]] = False  # head 1.1, head 2.2, the MLP of layer 2
    config = TicketConfig("good", 0, epochs=1, learning_rate=2e-3, keep_models=True)
    made = ticket(tiny, task, tuned, [_pruned("s", kept)], config=config, out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.head_counts == [3, 3, 4] and again.neuron_counts[1] == 0
    assert np.array_equal(again.predict(task.test).logits, made.result.arrays["retrained"])
    with tuned.gates(off=["head:1.1", "head:2.2", "mlp:2"]):
        expected = tuned.predict(task.test).logits
    assert np.allclose(made.result.arrays["pruned"], expected, atol=1e-5)


def test_new_weights_under_the_good_mask(tiny):
    task = make_task()
    tuned = finetune(tiny, task, FinetuneConfig(epochs=1, learning_rate=2e-3)).encoder
    kept = np.arange(15) % 4 > 0
    made = ticket(tiny, task, tuned, [_pruned("s", kept)], config=TicketConfig("reinit", 0, epochs=1))
    assert set(made.result.arrays) == {"retrained"}
    same = made.encoder.model.base_model.embeddings.word_embeddings.weight
    assert not np.allclose(
        same.detach().cpu(), tiny.model.base_model.embeddings.word_embeddings.weight.detach().cpu()
    )


def test_on_hans_neutral_and_contradiction_are_non_entailment(tiny):
    task = replace(make_task(), labels=("contradiction", "entailment", "neutral"))
    hans = Examples(tuple("abcd"), ("x",) * 4, pair=("y",) * 4, label=np.array([0, 0, 1, 1]))
    says = np.eye(3)[[1, 2, 0, 2]]  # entailment, neutral, contradiction, neutral
    assert _right_on_hans(says, task, hans).tolist() == [1, 0, 1, 1]
    with pytest.raises(UserError, match="needs a task with the label entailment"):
        kept = _pruned("s", np.ones(15, bool))
        ticket(tiny, make_task(), tiny, [kept], config=TicketConfig("good"), hans=hans)


def test_hans_is_scored_by_halves_and_over_seeds(tmp_path, tiny):
    hans, rows = tmp_path / "hans", tmp_path / "pairs.csv"
    hans.mkdir()
    sentences = [f"the old house {word}\tthe house {word}\t{row % 2}" for row, word in enumerate(["was"] * 20)]
    (hans / "hans_ketm.txt").write_text("\n".join(sentences) + "\n")
    lines = [f"the {w} road,a {w} road,{'entailment' if row % 2 else 'not_entailment'}"
             for row, w in enumerate(["long", "old"] * 30)]  # fmt: skip
    rows.write_text("\n".join(["text,text_pair,label", *lines]) + "\n")
    config = replace(QUICK_LOTTERY, methods=("s",), seeds=(0,), hans=str(hans), epochs=1)
    step = plan(model_root(tiny.save(tmp_path / "tiny")), task_root(rows), config)
    store = Store(tmp_path / "store")
    run_steps([step], store)
    found = store.result(step)
    table = found.tables["hans"].set_index(["subnetwork", "label"])["accuracy"]
    tickets = {name.rpartition(".")[2]: store.result(one) for name, one in step.inputs.items() if "tickets" in name}
    good = next(one for one in tickets.values() if one.subject["arm"] == "good")
    gold = good.arrays["hans_labels"]
    assert table["good_retrained", "entailment"] == good.arrays["hans_retrained"][gold == 0].mean()
    assert table["full", "non-entailment"] == good.arrays["hans_full"][gold == 1].mean()
    shown = found.in_words().tables["hans"]["subnetwork"]
    assert {"full model", "good, retrained", "bad, pruned"} < set(shown)
    with pytest.raises(UserError, match="isn't HANS"):
        plan(model_root(tmp_path / "tiny"), task_root(rows), replace(config, hans=str(rows)))


@pytest.mark.slow
def test_methods_in_any_order(tmp_path, tiny, rows):
    step = plan(
        model_root(tiny.save(tmp_path / "tiny")),
        task_root(rows),
        replace(QUICK_LOTTERY, methods=("m", "s"), seeds=(0,), epochs=1),
    )
    store = Store(tmp_path / "store")
    run_steps([step], store)
    assert store.result(step).tables["agreement"]["parts"].tolist() == ["weights", "heads", "mlps"]


def test_what_cannot_be_kept_pruned_is_refused(pocket):
    whole = load(tiny_model("albert"), tokenizer=pocket.tokenizer)
    found = _pruned("s", np.ones(15, bool))
    with pytest.raises(UserError, match="leave out --keep-models"):
        ticket(whole, make_task(), whole, [found], config=TicketConfig(keep_models=True))


def test_agreement_has_intervals_over_seeds():
    masks = np.random.default_rng(0).random((5, 15)) < np.linspace(0.1, 0.9, 15)
    parts = pd.DataFrame({"kind": ["head"] * 12 + ["mlp"] * 3})
    prunings = {"s": dict.fromkeys(range(5), Result("prune", 1, {"survivors": parts}))}
    table = _agreement({"s": dict(enumerate(masks))}, prunings).set_index("parts")
    heads = table.loc["heads"]
    assert (heads["kappa_low"], heads["kappa_high"]) == kappa_interval(masks[:, :12])
    assert (heads["kept_by_four_low"], heads["kept_by_four_high"]) == kept_by_four_interval(masks[:, :12])
    assert heads["kappa_low"] < heads["kappa"] < heads["kappa_high"] and heads["runs"] == 5
    fewer = _agreement({"s": dict(enumerate(masks[:4]))}, prunings)
    assert fewer[["kappa_low", "kept_by_four_high"]].isna().all(axis=None) and fewer["kappa"].notna().all()


def test_arms_differ_by_what_is_drawn(tiny):
    good = Subnetwork("s", np.arange(15) % 2 == 0)
    drawn = {arm: draw(arm, [good], tiny, 0).kept for arm in ("good", "random", "bad", "reinit")}
    assert np.array_equal(drawn["good"], drawn["reinit"])
    assert len({kept.tobytes() for kept in drawn.values()}) == 3


def test_what_cannot_work_is_refused():
    for wrong in ({"seeds": ()}, {"seeds": (1, 1)}, {"seeds": (-1,)}, {"methods": ()}, {"methods": ("s", "s")},
                  {"methods": ("x",)}, {"threshold": 2.0}):  # fmt: skip
        with pytest.raises(UserError):
            LotteryConfig(**wrong)


def _shapes(pruned: Result, survivors: str, others: str, **subject: str) -> Result:
    """What `patterns` stores of the model that was pruned, if its heads' patterns were these."""
    heads = pruned.tables["survivors"].query("kind == 'head'")
    kinds = np.where(heads["survives"], survivors, others)
    heads = heads.assign(**{"class": kinds, "class_first": kinds, "class_second": kinds}).drop(columns="survives")
    return Result("patterns", 1, tables={"heads": heads}, models=pruned.models, subject=subject)


def _pruned(method, kept):
    """What `prune` stores of a mask."""
    return Result(
        "prune", 1, tables={"survivors": pd.DataFrame({"survives": kept})} if method == "s" else {},
        arrays={"kept": np.packbits(kept), "count": np.array([kept.size])}, subject={"method": method},
    )  # fmt: skip
