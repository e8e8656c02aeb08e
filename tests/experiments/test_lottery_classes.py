"""`lottery`: the patterns of the heads that survive, with what the seeds and the classifiers leave open."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from bertscope.core.result import Result
from bertscope.experiments.lottery import measure


def test_classes_of_survivors_reach_over_seeds_and_classifiers(monkeypatch):
    """Five seeds of four heads, of which the first half survives: a labeller sees one more of a survivor's maps as
    heterogeneous. The classifiers are right where they weren't trained, so that dividing changes nothing."""
    monkeypatch.setattr(measure, "meant_by_called", lambda known: np.stack([np.eye(5)] * 3))
    names = np.array(["vertical", "heterogeneous"])
    both, second = np.array([[0, 0], [1, 0], [1, 1], [1, 0], [1, 0]]), np.ones((5, 2), int)
    pruned, shapes = {}, []
    for seed in range(5):
        where = pd.DataFrame({"kind": "head", "layer": 1, "head": range(1, 5)})
        pruned[seed] = Result("prune", 1, {"survivors": where.assign(survives=[True, True, False, False])})
        said = {key: [*names[of[seed]], "block", "block"] for key, of in
                (("class", both), ("class_first", both), ("class_second", second))}  # fmt: skip
        shapes.append(Result("patterns", 1, {"heads": where.drop(columns="kind").assign(**said)}))
    monkeypatch.setattr(measure, "_seed", lambda shape: next(at for at, one in enumerate(shapes) if one is shape))
    found = measure._classes(pruned, shapes).set_index(["of", "class"]).loc["survivors"].loc["heterogeneous"]
    of_seeds = both.mean(1)
    assert found["share"] == pytest.approx(of_seeds.mean()) and found["heads"] == both.sum() and found["runs"] == 5
    assert (found["least"], found["most"]) == (pytest.approx(of_seeds.mean()), 1)
    reach = scipy.stats.t.ppf(0.975, 4) * of_seeds.std(ddof=1) / 5**0.5
    assert found["low"] == pytest.approx(of_seeds.mean() - reach) and found["high"] == 1
