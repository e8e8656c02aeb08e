"""Arms over seeds: means, differences and intervals against NumPy by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.experiments.arms import Arms, few_seeds, in_points


def mean(means):
    return means[..., 0]


def runs(seeds: int, n: int = 40) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    easy = generator.random(n)
    return {
        "low": (generator.random((seeds, n, 1)) < 0.5 * easy[:, None]).astype(float),
        "high": (generator.random((seeds, n, 1)) < 0.5 + 0.5 * easy[:, None]).astype(float),
    }


def test_means_and_differences_by_hand():
    made = runs(6)
    arms = Arms(made, mean)
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
    trainings = arms.trainings(range(6))
    assert trainings.query("arm == 'low' and seed == 2")["score"].item() == made["low"][2].mean()


def test_the_interval_is_that_of_a_plain_two_level_bootstrap():
    made = runs(6)
    row = Arms(made, mean).effects({"gain": ("high", "low")}).iloc[0]
    generator = np.random.default_rng(5)
    apart = (made["high"] - made["low"])[..., 0]  # [seed, n]: both arms are drawn alike
    plain = [apart[generator.integers(6, size=6)][:, generator.integers(40, size=40)].mean() for _ in range(8000)]
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(plain, [0.025, 0.975]).tolist(), abs=0.02)


@pytest.mark.parametrize(("seeds", "interval"), [(1, True), (2, False), (4, False), (5, True)])
def test_few_runs_have_no_interval_over_them(seeds, interval):
    arms = Arms(runs(seeds), mean)
    for table in (arms.table(), arms.effects({"gain": ("high", "low")})):
        assert table["low"].notna().all() == interval and table["high"].notna().all() == interval
    assert arms.table()["sd"].isna().all() == (seeds == 1)
    assert len(few_seeds(seeds)) == (seeds < 5)
    said = in_points(arms.effects({"gain": ("high", "low")}).iloc[0])
    assert said.endswith(" (clear of 0)") == (seeds >= 5)  # one seed's interval says nothing about trainings
