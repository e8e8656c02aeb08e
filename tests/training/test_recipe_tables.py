"""The scripts behind docs/findings/recipe.md: what they train, and how their tables are made."""

from __future__ import annotations

import json
from dataclasses import asdict

import pandas as pd

from bertscope.training.finetune.question import FinetuneConfig
from recipe_table import by_rows, cells, clear_gains, failed, heads, searched, shown, with_heads
from recipe_trainings import MODELS, Cell, arms, faster_heads, told


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
    both = (
        "- pocket: over data sets, `auto` is shown to be better with no number of rows, and worse with no number of "
        "rows."
    )
    assert shown(table).splitlines()[0] == both
    sure = table.assign(gain=table["gain"].where(table["data"] == "CoLA", 0.29))
    assert "over data sets, `auto` is shown to be better with 100 rows, and worse with no" in shown(sure)
    assert "in 2 of 2 cells in which the recipes differ, and every seed is in 2; every seed is below it in 0" in (
        clear_gains(table)
    )


def test_faster_heads_stand_beside_auto_on_the_same_rows(tmp_path):
    cells = [cell for cell in faster_heads(2) if cell.data == "UNER" and cell.model == "pocket"]
    assert [(cell.seed, cell.head_rate) for cell in cells] == [(0, 10), (0, 3), (1, 10), (1, 3)]
    assert {cell.settings.head_rate for cell in cells} == {3, 10}
    scores = {(0, 10): 0.5, (0, 3): 0.41, (1, 10): 0.62}
    lines = [asdict(cell) | {"validation": 0.0, "test": scores[cell.seed, cell.head_rate]} for cell in cells[:3]]
    (tmp_path / "heads.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    slow = [
        [*[*asdict(arms("UNER", "pocket", 1000, seed)["auto"]).values()][:8], 0.0, test, 320, 1.0, 0.1]
        for seed, test in enumerate((0.4, 0.5))
    ]
    kept = with_heads({"recipes": slow, "search": [], "results": {}}, tmp_path / "heads.jsonl", made="today")
    assert kept["heads"]["made"] == "today"
    told = heads(kept)
    assert "| pocket | UNER | 1,000 | 10 | 2 | .450 | .560 | +11.0 [+10.0, +12.0] |" in told
    assert "| pocket | UNER | 1,000 | 3 | 1 | .400 | .410 | +1.0 |" in told


def test_pairs_that_differ_in_one_setting_alone():
    def line(rate: float, steps: int, batch: int, score: float) -> list:
        epochs = max(1, round(steps / -(-100 // batch)))
        return ["SST-2", "pocket", 100, 0, rate, epochs, 0.1, batch, score, score, steps, 1.0, 0.5]

    lines = [line(3e-4, 100, 32, 0.6), line(3e-4, 200, 32, 0.7), line(3e-4, 400, 32, 0.65), line(1e-4, 100, 32, 0.55)]
    lines += [line(3e-4, 100, 8, 0.5), line(3e-4, 200, 8, 0.5), line(1e-3, 200, 32, 0.4)]
    table = searched(lines).splitlines()
    # Twice: .7 - .6 and .5 - .5: the mean .05, the standard error .05, t of one degree of freedom 12.706.
    (more,) = [row for row in table if row.startswith("| 200 steps instead of 100")]
    assert more.split(" | ")[1] == "+5.0 [-58.5, +68.5] (2 pairs)"
    (fewer,) = [row for row in table if row.startswith("| a third")]
    assert fewer.split(" | ")[1].startswith("-5.0") and "(1 pairs)" in fewer


def test_failed_trainings_are_counted_by_what_they_look_like():
    def line(rate: float, test: float, last: float) -> list:
        return ["SST-2", "pocket", 100, 0, rate, 25, 0.1, 32, 0.5, test, 100, 1.0, last]

    lines = [line(1e-3, 0.51, 0.95), line(3e-4, 0.53, 0.4), line(1e-4, 0.519, 0.95)]
    table = failed({"search": lines, "recipes": lines[1:2], "without": {"SST-2 100 0": {"chance": 0.5}}}).splitlines()
    assert table[2:] == [
        "| by less than a tenth | over 1.5 times | 100 to 299 | 1 of 1 |",
        "| by less than a tenth | under 0.6 times | 100 to 299 | 1 of 1 |",
        "| by more | about the same | 100 to 299 | 0 of 1 |",
    ]
