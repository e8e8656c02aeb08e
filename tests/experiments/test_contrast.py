"""`contrast`: its plan, what it makes of its trainings, and the whole of it on a small model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from bertscope.core.errors import UserError
from bertscope.core.intervals import reach
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.core.variance_components import group_values, interval_over_runs
from bertscope.data.corpus import data_root
from bertscope.experiments.contrast.measure import _CONTEXTUAL
from bertscope.experiments.contrast.question import ContrastConfig, contrast, plan
from bertscope.models.source import model_root
from made_runs import BASE, made_model
from running import made_by

LAYERS, GROUPS, PAIRS = 5, 10, 60


def of(place: int, seeds: int = 1) -> ModelRecord:
    """The base, or the model of a training: those of each arm, seed by seed."""
    if not place:
        return BASE
    arm, seed = divmod(place - 1, seeds)
    recipe = {"positives": ("true", "shuffled")[arm], "seed": seed}
    return made_model(f"model {place}", by="contrastive", **recipe)


def made_space(slope: float, seed: int, noise: float = 0.002, model: ModelRecord = BASE) -> Result:
    """A geometry whose baseline rises by `slope` a layer."""
    generator = np.random.default_rng(seed)
    line = (
        0.1
        + slope * np.arange(LAYERS)[:, None]
        + noise * generator.normal(size=(LAYERS, 1 + GROUPS)) * [[0] + [1] * GROUPS]
    )
    arrays = {"baseline": line[None], "self_similarity_adjusted": 1 - line[None]}
    return Result("geometry", 2, arrays=arrays, models={model.id: model}, subject={"task": "a corpus"})


def made_pairs(strength: float, seed: int, uniformity: float, model: ModelRecord = BASE) -> Result:
    """No two poolings and layers have the same numbers."""
    gold = np.arange(PAIRS) / PAIRS
    noise = np.random.default_rng(seed).normal(size=(2, LAYERS, PAIRS))
    place = (np.arange(2)[:, None] + np.arange(LAYERS) / 10)[..., None].repeat(1 + GROUPS, 2)
    arrays = {
        "cosine": (strength * gold + noise / 4).astype(np.float32), "gold": gold,
        "alignment": 0.5 + place + seed, "uniformity": uniformity - place,
    }  # fmt: skip
    return Result("sentences", 1, arrays=arrays, models={model.id: model}, subject={"task": "an sts"})


def made_training(place: int, loss: float, seeds: int = 1) -> Result:
    epochs = pd.DataFrame({"epoch": [0, 1], "loss": [np.nan, loss], "score": [0.2, 0.2 + 0.1 * place]})
    steps = pd.DataFrame({"step": [1, 2], "loss": [loss + 1, loss]})
    arm, seed = divmod(place, seeds)
    subject = {"task": "texts", "seed": str(seed)} | ({"positives": "shuffled"} if arm else {})
    return Result(
        "contrastive", 1, tables={"epochs": epochs, "steps": steps}, models={BASE.id: BASE}, subject=subject
    )


def made(seeds: int, after: float = 0.02, control: bool = True, turned: bool = False, **settings) -> Result:
    """`turned` gives the results in another order."""
    config = ContrastConfig(seeds=tuple(range(seeds)), control=control, **settings)
    runs = range(seeds)
    slopes = [0.05, *(after + 0.001 * (run - (seeds - 1) / 2) for run in runs), *(0.06 for _ in runs)]
    strengths = [0.2, *(1.5 for _ in runs), *(0.1 for _ in runs)]
    n = 1 + seeds * (2 if control else 1)
    given = (
        [made_training(run, 1.0, seeds) for run in range(n - 1)],
        [
            made_pairs(strength, 10 + place, -1.0 * (strength > 1), of(place, seeds))
            for place, strength in enumerate(strengths[:n])
        ],
        [made_space(slope, 100 + place, model=of(place, seeds)) for place, slope in enumerate(slopes[:n])],
    )
    return contrast.compute(*(results[::-1] if turned else results for results in given), config)


def value(result: Result, key: str, **about: str) -> float:
    (number,) = result.numbers(key=key, **about)
    return number.value


def test_each_result_says_which_training_it_is_of():
    assert made(5, turned=True).equals(made(5))


def test_slopes_and_their_difference_over_five_seeds():
    result = made(5)
    slopes = result.tables["slopes"].set_index(["arm", "against"])
    assert slopes.loc[("before", ""), "slope"] == pytest.approx(0.05)
    assert slopes.loc[("contrastive", ""), "slope"] == pytest.approx(0.02)
    assert slopes.loc[("shuffled", "before"), "slope"] == pytest.approx(0.01)
    change = slopes.loc["contrastive", "before"]
    assert change["slope"] == pytest.approx(-0.03) and change["low"] < -0.03 < change["high"] < -0.02
    seeds = 0.001 * np.std(np.arange(5), ddof=1) / np.sqrt(5)
    assert change["high"] - change["slope"] > reach(5) * seeds, "the texts' error comes on top of the seeds'"
    assert "more slowly with depth, as the CS4650 slides found" in " ".join(result.notes)
    main = next(number for number in result.headline if number.key == contrast.main)
    assert main.value == pytest.approx(-0.03) and main.label == "slope, contrastive - before"
    said = contrast.sentence(result)
    assert said.main == main.value and said.sentence.endswith("(5 seeds).")
    assert result.tables["runs"]["slope"].tolist()[1:6] == pytest.approx([0.018, 0.019, 0.02, 0.021, 0.022])


def test_a_line_of_least_squares_is_numpys():
    bent = made_space(0.05, 0, noise=0.0)
    bent.arrays["baseline"] = np.array([0.1, 0.5, 0.2, 0.9, 0.3])[None, :, None].repeat(1 + GROUPS, 2)
    result = contrast.compute(
        [made_training(0, 1.0)], [made_pairs(1, 0, 0.0, of(place)) for place in (0, 1)],
        [bent, made_space(0.05, 1, model=of(1))],
        ContrastConfig(control=False),
    )  # fmt: skip
    expected = np.polyfit(np.arange(5), [0.1, 0.5, 0.2, 0.9, 0.3], 1)[0]
    assert value(result, "slope", arm="before") == pytest.approx(expected)


def test_spearman_over_seeds_is_paired():
    result = made(5)
    row = result.tables["sts"].query("arm == 'contrastive' and pool == 'cls'").iloc[0]
    before = result.tables["sts"].query("arm == 'before' and pool == 'cls'").iloc[0]
    assert row["minus_before"] == pytest.approx(row["spearman"] - before["spearman"])
    assert row["minus_before_low"] > 0.2 and row["low"] < row["spearman"] < row["high"]
    assert row["runs"] == 5 and before["runs"] == 1 and before["minus_before"] == 0
    each = result.tables["runs"].query("arm == 'contrastive'")["spearman"]
    assert row["spearman"] == pytest.approx(each.mean())


@pytest.mark.parametrize(("pool", "at"), [("cls", 0), ("mean", 1)])
def test_numbers_are_those_of_the_pooling_it_was_trained_with_and_of_the_last_layer(pool, at):
    result = made(2, pool=pool)
    trained = [made_pairs(1.5, 10 + place, -1.0).arrays for place in (1, 2)]
    each = [spearmanr(one["cosine"][at, -1], one["gold"]).statistic for one in trained]
    runs = result.tables["runs"].set_index("arm")
    assert runs.loc["contrastive", "spearman"].tolist() == pytest.approx(each)
    assert value(result, "spearman", arm="contrastive") == pytest.approx(np.mean(each))
    assert runs.loc["contrastive", "alignment"].tolist() == pytest.approx([0.9 + at + 11, 0.9 + at + 12])
    assert value(result, "alignment", arm="contrastive") == pytest.approx(0.9 + at + 11.5)
    assert value(result, "uniformity", arm="contrastive") == pytest.approx(-1.4 - at)
    assert value(result, "uniformity", arm="shuffled") == pytest.approx(-0.4 - at)
    assert value(result, "last_baseline", arm="before") == pytest.approx(0.1 + 4 * 0.05)


def test_curves_are_means_over_the_seeds_of_an_arm():
    result = made(2)
    after = result.tables["curve"].query("epoch == 1").set_index("arm")["score"]
    assert after.to_dict() == pytest.approx({"contrastive": 0.2 + 0.05, "shuffled": 0.2 + 0.25})


def test_what_others_measured_stands_beside_the_claims_alone():
    result = made(1)
    assert not any(figure.rules for figure in result.figures)
    assert not any("0.763" in note or "0.816" in note for note in result.notes)


def test_few_seeds_have_no_interval_over_trainings():
    result = made(3)
    trained, base = result.numbers(arm="contrastive"), result.numbers(arm="before")
    assert {number.key for number in trained} == set(contrast.numbers)
    assert {number.low for number in trained} == {None}
    assert {"slope", "spearman", "uniformity"} <= {number.key for number in base}
    assert all(number.low is not None for number in base), "the base isn't trained"
    assert "3 seeds are too few" in " ".join(result.notes)
    assert "too few seeds to say how sure that is" in " ".join(result.notes)


@pytest.mark.parametrize(("after", "said"), [(0.08, "faster with depth"), (0.05, "which way it changed is open")])
def test_the_verdict_has_the_sign_that_was_found(after, said):
    assert said in " ".join(made(5, after).notes)


def test_without_the_control_there_is_one_arm():
    result = made(1, control=False)
    assert result.tables["sts"]["arm"].unique().tolist() == ["before", "contrastive"]
    assert result.numbers(key="slope", arm="contrastive")[0].low is not None, "one seed: over texts"
    assert "one seed" in " ".join(result.notes)
    assert not any("huffled" in figure.caption for figure in result.figures)
    assert any("Shuffled:" in figure.caption for figure in made(1).figures)


@pytest.mark.parametrize(("pairs", "among"), [("pairs", 64), ("triples", 128)])
def test_guessing_is_among_hard_negatives_too(pairs, among):
    (loss,) = (figure for figure in made(1, pairs=pairs).figures if figure.key == "loss")
    assert f"guessing among {among} gives log {among}" in loss.caption


def test_an_interval_over_runs_adds_both_errors():
    """Runs and texts that vary on their own: the interval of the mean holds the truth about as often as it says."""
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        texts, runs = generator.normal(size=200), generator.normal(0, 0.1, size=6)
        groups = texts.reshape(20, 10).mean(1)
        left = (groups.sum() - groups) / 19
        draws = runs[:, None] + np.concatenate([[groups.mean()], left])
        low, high = interval_over_runs(group_values(draws))
        hits += low < 0 < high
    assert 0.93 <= hits / 400 <= 0.97


def test_the_plan_trains_each_arm_once_per_seed(tmp_path):
    base, data = model_root("pocket"), data_root("demo/entailment")
    step = plan(base, data, ContrastConfig(pairs="pairs", seeds=(0, 1)))
    trainings = [one for name, one in step.inputs.items() if name.startswith("contrasted")]
    assert [(one.config["positives"], one.config["seed"]) for one in trainings] == [
        ("true", 0), ("true", 1), ("shuffled", 0), ("shuffled", 1),
    ]  # fmt: skip
    assert len([name for name in step.inputs if name.startswith("pairs")]) == 5
    fewer = plan(base, data, ContrastConfig(pairs="pairs", seeds=(1,), control=False))
    assert fewer.inputs["contrasted.0"].id == trainings[1].id, "shared with whoever needs it"
    geometry = step.inputs["spaces.0"]
    assert geometry.name == "geometry" and geometry.inputs["states.0"].inputs["model"] == base
    assert geometry.inputs["examples"].options["split"] == "validation", "which demo/corpus doesn't train on"


def test_every_arm_is_trained_as_asked():
    asked = {"pairs": "pairs", "temperature": 0.2, "pool": "mean", "projection": False, "length": 9, "batch_size": 8,
             "epochs": 2, "learning_rate": 1e-3, "least_score": 3.0}  # fmt: skip
    for one in ContrastConfig(**asked, seeds=(3, 4)).trainings():
        assert {name: getattr(one, name) for name in asked} == asked


@pytest.mark.slow
def test_all_of_it_on_a_small_model(tiny, tmp_path):
    tiny.save(tmp_path / "base")
    texts = tmp_path / "texts.txt"
    words = ("the", "old", "house", "was", "by", "a", "long", "road", "and", "she", "said")
    generator = np.random.default_rng(0)
    texts.write_text("\n".join(" ".join(generator.choice(words, 6)) + "." for _ in range(60)))
    scored = tmp_path / "sts.csv"
    rows = ["text,text_pair,score"] + [f"{words[i % 11]} house,{words[j % 11]} road,{abs(i % 11 - j % 11) / 2}"
                                       for i in range(12) for j in range(6)]  # fmt: skip
    scored.write_text("\n".join(rows))
    config = ContrastConfig(sts=str(scored), corpus=str(texts), batch_size=8)
    store = Store(tmp_path / "store")
    step = plan(model_root(str(tmp_path / "base")), data_root(texts), config)
    assert "contrast" in made_by(step, store)
    result = store.result(step)
    assert len(result.tables["baseline"]) == 3 * 4, "before, contrastive, shuffled; layers 0 to 3"
    assert set(result.tables["contextual"]["measure"]) <= set(_CONTEXTUAL) and len(result.tables["contextual"])
    assert value(result, "slope", arm="contrastive") != value(result, "slope", arm="before")
    assert len(result.figures) >= 5 and result.subject["task"] == "texts.txt"
    assert made_by(step, store) == [], "nothing is computed twice"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"seeds": ()}, "give one or more different numbers"),
        ({"seeds": (1, 1)}, "give one or more different numbers"),
        ({"batch_size": 1}, "nothing to tell apart"),
        ({"epochs": 0}, "epochs is 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(UserError, match=said):
        ContrastConfig(**settings)


def test_a_corpus_that_is_not_there_is_refused_before_any_training():
    with pytest.raises(UserError, match="no file"):
        plan(model_root("pocket"), data_root("demo/corpus"), replace(ContrastConfig(), corpus="nowhere.txt"))
