"""The scripts behind docs/findings/recipe.md: what they train, and how their tables are made."""

from __future__ import annotations

import json
from dataclasses import asdict

import pandas as pd

from bertscope.training.finetune.question import FinetuneConfig
from recipe_table import by_rows, cells
from recipe_trainings import MODELS, Cell, arms, told


def test_arms_are_the_recipes():
    for model, width in MODELS.items():
        for rows in (100, 1000, 10_000):
            made = arms("SST-2", model, rows, 1)["auto"]
            assert made.settings.settled(width, rows) == made.settings  # nothing is left open
            auto = FinetuneConfig().settled(width, rows)
            assert (made.learning_rate, made.epochs, made.warmup) == (auto.learning_rate, auto.epochs, auto.warmup)
    before, auto, fewer = arms("SST-2", "pocket", 1000, 0).values()
    assert (before.steps, auto.steps, fewer.steps) == (128, 320, 224)
    assert len({*arms("SST-2", "pocket", 3000, 0).values()}) == 1  # 376 steps by all


def test_a_training_is_found_again_by_what_decides_it(tmp_path):
    cell, file = Cell("SST-2", "pocket", 100, 0, 3e-4, 25), tmp_path / "lines.jsonl"
    assert told(file) == {}
    file.write_text(json.dumps(asdict(cell) | {"test": 0.5}) + "\n")
    assert told(file)[cell]["test"] == 0.5 and Cell("SST-2", "pocket", 100, 1, 3e-4, 25) not in told(file)


def test_tables_of_planted_scores():
    rows = [
        {"model": model, "data": data, "rows": 100, "seed": seed, "chance": 0.5, "without": 0.55, "before": 0.5,
         "auto": 0.5 + gain + at, "fewer": 0.5 + gain + at, "gain": gain + at, "same": model == "pocket" and not gain}
        for data, gain in (("SST-2", 0.1), ("CoLA", 0.3)) for model in MODELS
        for seed, at in enumerate((-0.01, 0.0, 0.01))
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    assert "| SST-2 | 100 | .500 | .550 | .500 | .600 | +10.0 [+9.0, +11.0] |" in cells(table)
    # Two data sets, .1 and .3: the mean .2, the standard error .1, t of one degree of freedom 12.706.
    assert "| 100 | 2 | +20.0 [-107.1, +147.1] | +20.0 [-107.1, +147.1] | the same | the same |" in by_rows(table)
