"""Arms over seeds: means, differences and intervals against NumPy by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.variance_components import interval_over_runs
from bertscope.data.metrics import between
from bertscope.experiments.arms import Arms, effect_in_points, few_seeds


def mean(means):
    return means[..., 0]


def by_seed(made: dict[str, np.ndarray]) -> dict[str, dict[int, np.ndarray]]:
    return {arm: dict(enumerate(moments)) for arm, moments in made.items()}


def runs(seeds: int, n: int = 40) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    easy = generator.random(n)
    return {
        "low": (generator.random((seeds, n, 1)) < 0.5 * easy[:, None]).astype(float),
        "high": (generator.random((seeds, n, 1)) < 0.5 + 0.5 * easy[:, None]).astype(float),
    }


def test_means_and_differences_by_hand():
    made = runs(6)
    arms = Arms(by_seed(made), mean)
    table = arms.table().set_index("arm")
    for name, moments in made.items():
        each = moments[..., 0].mean(1)
        assert table.loc[name, "score"] == pytest.approx(each.mean())
        assert table.loc[name, "sd"] == pytest.approx(np.std(each, ddof=1))
    effects = arms.effects({"gain": ("high", "low"), "loss": ("low", "high")}).set_index("effect")
    apart = (made["high"] - made["low"]).mean()
    assert effects.loc["gain", "difference"] == pytest.approx(apart)
    assert effects.loc["loss", ["difference", "low", "high"]].tolist() == pytest.approx(
        (-effects.loc["gain", ["difference", "high", "low"]]).tolist()
    )
    trainings = arms.trainings()
    assert trainings.query("arm == 'low' and seed == 2")["score"].item() == made["low"][2].mean()


def test_the_interval_is_that_of_the_variance_components():
    made = runs(6)
    arms = Arms(by_seed(made), mean)
    row = arms.effects({"gain": ("high", "low")}).iloc[0]
    assert (row["low"], row["high"]) == pytest.approx(interval_over_runs((made["high"] - made["low"])[..., 0]))
    table = arms.table().set_index("arm")
    assert table.loc["low", ["low", "high"]].tolist() == pytest.approx(interval_over_runs(made["low"][..., 0]))
    half = arms.combined({"half": {"high": 0.5, "low": -0.5}}).iloc[0]
    assert (half["low"], half["high"]) == pytest.approx((row["low"] / 2, row["high"] / 2))


def test_no_score_is_beyond_what_the_metric_can_be():
    almost = {"good": {seed: np.r_[np.ones(38), 0.0, float(seed % 2)][:, None] for seed in range(5)}}
    assert Arms(almost, mean).table()["high"].item() == 1
    assert Arms(almost, mean, within=(0.0, np.inf)).table()["high"].item() > 1


@pytest.mark.parametrize(("within", "furthest"), [(between("accuracy"), 1.0), (between("matthews"), 2.0)])
def test_no_difference_is_beyond_what_two_scores_can_be_apart(within, furthest):
    """Of two texts Student's interval is twelve deviations wide, and an accuracy of -1 was told."""
    two = {"one": {0: np.array([[1.0], [0.0]])}, "other": {0: np.array([[0.0], [0.0]])}}
    arms = Arms(two, mean, within=within)
    row = arms.effects({"apart": ("one", "other")}).iloc[0]
    assert (row["difference"], row["low"], row["high"]) == (0.5, -furthest, furthest)
    assert arms.table()["low"].tolist()[0] == within[0] and arms.table()["high"].tolist()[0] == 1.0


@pytest.mark.parametrize("seeds", [1, 5])
def test_arms_whose_answers_are_all_right_may_still_err(seeds):
    """Their interval is Wilson's, as that of a single model's score; the difference of two such is as it was."""
    arms = Arms(by_seed({"one": np.ones((seeds, 40, 1)), "other": np.zeros((seeds, 40, 1))}), mean)
    table = arms.table().set_index("arm")
    furthest = 40 / (40 + 1.959964**2)
    assert table.loc["one", ["low", "high"]].tolist() == pytest.approx([furthest, 1.0])
    assert table.loc["other", ["low", "high"]].tolist() == pytest.approx([0.0, 1 - furthest])


def test_against_several_it_is_the_best_of_them():
    made = runs(6)
    made["middle"] = np.where(np.arange(40)[:, None] % 2, made["low"], made["high"])
    arms = Arms(by_seed(made), mean)
    alone = {other: arms.effects({"gain": ("high", other)}).iloc[0] for other in ("low", "middle")}
    both = arms.effects({"gain": ("high", "low", "middle")}).iloc[0]
    assert both["against"] == "middle" and both["difference"] == alone["middle"]["difference"]
    assert both["low"] == min(one["low"] for one in alone.values())
    assert both["high"] == min(one["high"] for one in alone.values())


@pytest.mark.parametrize(("seeds", "interval"), [(1, True), (2, False), (4, False), (5, True)])
def test_few_runs_have_no_interval_over_them(seeds, interval):
    arms = Arms(by_seed(runs(seeds)), mean)
    for table in (arms.table(), arms.effects({"gain": ("high", "low")})):
        assert table["low"].notna().all() == interval and table["high"].notna().all() == interval
    assert arms.table()["sd"].isna().all() == (seeds == 1)
    assert len(few_seeds(seeds)) == (seeds < 5)
    said = effect_in_points(arms.effects({"gain": ("high", "low")}).iloc[0], 0.02, 40)
    assert said.endswith(" (better: clear of 0)") == (seeds >= 5)  # one seed's interval says nothing about trainings


@pytest.mark.parametrize(("texts", "verdict"), [(40, "open: 40 texts are too few to say that"), (100, "as good, ")])
def test_answers_that_are_all_alike_are_as_good_only_where_texts_are_many(texts, verdict):
    """The interval over trainings is a point, and yet a loss as large as the margin shows in none of few texts."""
    made = np.ones((5, texts, 1))
    row = Arms(by_seed({"one": made, "other": made}), mean).effects({"apart": ("one", "other")}).iloc[0]
    assert effect_in_points(row, 0.05, texts).startswith(f"+0.0 [+0.0, +0.0] ({verdict}")


def test_runs_are_paired_by_their_seed_wherever_they_stand():
    made = by_seed(runs(6))
    turned = {"low": made["low"], "high": dict(reversed(made["high"].items()))}
    for table in (Arms.table, Arms.trainings, lambda arms: arms.effects({"gain": ("high", "low")})):
        assert table(Arms(made, mean)).equals(table(Arms(turned, mean)))
    with pytest.raises(ValueError, match="arms of different seeds"):
        Arms(made | {"high": {seed + 1: run for seed, run in made["high"].items()}}, mean)


def test_an_arm_may_be_a_setting_of_several_things():
    made = by_seed(runs(5))
    arms = Arms({(arm, top): made[arm] for arm in made for top in ("a", "b")}, mean, columns=("arm", "top"))
    plain = Arms(made, mean).table().set_index("arm")["score"]
    table = arms.table().set_index(["arm", "top"])["score"]
    assert table["low", "b"] == plain["low"] and list(arms.trainings().columns) == ["arm", "top", "seed", "score"]
    apart = arms.combined({"high": {("high", "a"): 0.5, ("high", "b"): 0.5, ("low", "a"): -1.0}})
    assert apart["difference"].item() == pytest.approx(plain["high"] - plain["low"])
