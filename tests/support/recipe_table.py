"""The tables of docs/findings/recipe.md, made of what `recipe_trainings.py` wrote.

`python tests/support/recipe_table.py recipes.jsonl search.jsonl DAY DEVICE COMMIT` scores the baselines on the same
rows (minutes; they are kept beside the first file) and puts all lines into docs/findings/results/recipe.json;
`... heads heads.jsonl DAY DEVICE COMMIT` puts those of faster heads beside them. `findings_pages.py` writes the page
from those.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import t as student

from findings_results import FOLDER, write
from recipe_trainings import MODELS, SOURCES, Cell, arms, planned, sizes, task_of, told

KEPT = FOLDER / "recipe.json"
_COLUMNS = (
    "data", "model", "rows", "seed", "learning_rate", "epochs", "warmup", "batch", "validation", "test", "steps",
    "first_loss", "last_loss",
)  # fmt: skip
_BASELINES = {"bag_of_words": "without", "word_lookup": "without", "chance": "chance"}
_SIZES = ("100", "300", "1,000", "1,801 to 3,000", "5,749 to 10,000")
_AUTO = {"pocket": 3e-4, "MiniLM": 1e-4}
"""The learning rate that `auto` has for each."""


def measured(kept: Mapping[str, Any]) -> pd.DataFrame:
    """A row for each data set, model, number of rows and seed: the test set's score by each recipe, and without a
    model."""
    lines = {Cell(*line[:8]): line[_COLUMNS.index("test")] for line in kept["recipes"]}
    rows = []
    for model in MODELS:
        for place, beside in kept["without"].items():
            data, n, seed = place.split(" ")
            found = {arm: lines.get(cell) for arm, cell in arms(data, model, int(n), int(seed)).items()}
            same = len({*arms(data, model, int(n), int(seed)).values()}) == 1
            rows.append(
                {"model": model, "data": data, "rows": int(n), "seed": int(seed), "same": same} | found | beside
            )
    table = pd.DataFrame(rows).astype(dict.fromkeys(("before", "auto", "fewer"), float))
    return table.assign(gain=table["auto"] - table["before"])


def cells(table: pd.DataFrame) -> str:
    """Each data set and number of rows: means over the seeds, and the lowest and highest difference."""
    lines = [
        "| data | rows | constant | without a model | pocket before | auto | gain | MiniLM before | auto | gain |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (data, n), of in table.groupby(["data", "rows"], sort=False):
        words = [data, f"{n:,}", _score(of["chance"].mean()), _score(of["without"].mean())]
        for model in MODELS:
            one = of[of["model"] == model]
            gain = (
                "the same" if one["same"].all() else _points(one["gain"].mean(), one["gain"].min(), one["gain"].max())
            )
            words += [_score(one["before"].mean()), _score(one["auto"].mean()), gain]
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


def by_rows(table: pd.DataFrame) -> str:
    """Means over data sets, each the mean of its seeds, with an interval over data sets (Student's t)."""
    sized = _sized(table)
    lines = [
        "| rows | data sets | pocket | MiniLM | 300 steps beside 200: pocket | MiniLM |",
        "|---|---|---|---|---|---|",
    ]
    for size in _SIZES:
        of = sized[sized["size"] == size]
        if of.empty:
            continue
        words = [size, str(of["data"].nunique())]
        for column in (of["gain"], of["auto"] - of["fewer"]):
            for model in MODELS:
                each = column[of["model"] == model].groupby(of["data"]).mean()
                words.append("the same" if not each.any() else _points(each.mean(), *_interval(each)))
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


def shown(table: pd.DataFrame) -> str:
    """Of which sizes the interval over data sets lies on one side of 0: a line for each model."""
    lines = []
    for model in MODELS:
        mine, above, below = _sized(table[table["model"] == model]), [], []
        for size in _SIZES:
            each = mine[mine["size"] == size].groupby("data")["gain"].mean()
            low, high = _interval(each) if each.any() else (0.0, 0.0)
            above += [size] if low > 0 else []
            below += [size] if high < 0 else []
        lines.append(
            f"- {model}: over data sets, `auto` is shown to be better with {_listed(above)}, and worse with "
            f"{_listed(below)}."
        )
    return "\n".join(lines)


def _listed(sizes: list[str]) -> str:
    return f"{', '.join(sizes)} rows" if sizes else "no number of rows"


def _sized(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(size=pd.cut(table["rows"], [0, 100, 300, 1000, 3000, 10_000], labels=_SIZES).astype(str))


def clear_gains(table: pd.DataFrame) -> str:
    """In how many cells the gain is above 0, and with every seed: a line for each model."""
    lines = []
    for model in MODELS:
        cell = table[(table["model"] == model) & ~table["same"]].groupby(["data", "rows"])["gain"]
        mean, least, most = (int((found > 0).sum()) for found in (cell.mean(), cell.min(), -cell.max()))
        lines.append(
            f"- {model}: the mean over seeds is above *before* in {mean} of {len(cell)} cells in which the recipes "
            f"differ, and every seed is in {least}; every seed is below it in {most}."
        )
    return "\n".join(lines)


def searched(lines: Iterable[list[Any]]) -> str:
    """What one setting does to the score on validation, others equal: means over pairs, in points."""
    table = pd.DataFrame(lines, columns=list(_COLUMNS)).merge(pd.DataFrame(planned()))
    asked = [
        ("a third (MiniLM: half) of auto's learning rate", "learning_rate", {"pocket": 1e-4, "MiniLM": 5e-5}, _AUTO),
        ("twice", "learning_rate", {"MiniLM": 2e-4}, _AUTO),
        ("3.3 times (MiniLM: 5 times)", "learning_rate", {"pocket": 1e-3, "MiniLM": 5e-4}, _AUTO),
        ("200 steps instead of 100", "planned", dict.fromkeys(MODELS, 200), dict.fromkeys(MODELS, 100)),
        ("400 instead of 200", "planned", dict.fromkeys(MODELS, 400), dict.fromkeys(MODELS, 200)),
        (
            "32 examples a step instead of 8, as many steps",
            "batch",
            dict.fromkeys(MODELS, 32),
            dict.fromkeys(MODELS, 8),
        ),
    ]
    places = [(model, rows) for model in MODELS for rows in (100, 1000)]
    made = [
        f"| | {' | '.join(f'{model}, {rows:,} rows' for model, rows in places)} |",
        "|---" * (len(places) + 1) + "|",
    ]
    for words, column, one, other in asked:
        found = [_pairs(table, column, one.get(model), other[model], model, rows) for model, rows in places]
        made.append(f"| {words} | {' | '.join(found)} |")
    return "\n".join(made)


def heads(kept: Mapping[str, Any]) -> str:
    """What a head that learns at a multiple of the encoder's rate does to auto's scores on the test set: of the same
    rows and seeds the means, and the lowest and highest difference where there are several."""
    lines = {Cell(*line[:8]): line[_COLUMNS.index("test")] for line in kept["recipes"]}
    rows = []
    for data, model, n, seed, rate, _, test in kept["heads"]["lines"]:
        slow = lines[arms(data, model, n, seed)["auto"]]
        rows.append({"data": data, "model": model, "rows": n, "rate": rate, "slow": slow, "test": test})
    table = pd.DataFrame(rows)
    made = ["| model | data | rows | head rate | seeds | as fast as the encoder | faster | gain |", "|---" * 8 + "|"]
    for (model, data, n, rate), of in table.groupby(["model", "data", "rows", "rate"], sort=False):
        gains = of["test"] - of["slow"]
        ends = (gains.min(), gains.max()) if len(of) > 1 else ()
        words = [
            model,
            data,
            f"{n:,}",
            f"{rate:g}",
            str(len(of)),
            _score(of["slow"].mean()),
            _score(of["test"].mean()),
        ]
        made.append(f"| {' | '.join([*words, _points(gains.mean(), *ends)])} |")
    return "\n".join(made)


def _pairs(table: pd.DataFrame, column: str, one: Any, other: Any, model: str, rows: int) -> str:
    """The mean difference of trainings that differ in this setting alone, with its interval over pairs."""
    if one is None:
        return ""
    keys = [key for key in ("data", "learning_rate", "planned", "batch") if key != column]
    mine = table[(table["model"] == model) & (table["rows"] == rows)].set_index(keys)
    found = (mine[mine[column] == one]["validation"] - mine[mine[column] == other]["validation"]).dropna()
    return f"{_points(found.mean(), *_interval(found))} ({len(found)} pairs)"


def failed(kept: Mapping[str, Any]) -> str:
    """How often a training ended no more than two points above a constant answer on the test set, by how its loss
    fell, its learning rate and its steps: what `finetune` gives as advice was read off such a table."""
    every = {Cell(*line[:8]): dict(zip(_COLUMNS, line, strict=True)) for line in (*kept["search"], *kept["recipes"])}
    rows = []
    for cell, line in every.items():
        times = cell.learning_rate / _AUTO[cell.model]
        rate = "over 1.5 times" if times > 1.5 else "under 0.6 times" if times < 0.6 else "about the same"
        steps = "under 100" if cell.steps < 100 else "100 to 299" if cell.steps < 300 else "300 or more"
        fell = "by less than a tenth" if line["last_loss"] > 0.9 * line["first_loss"] else "by more"
        chance = kept["without"][f"{cell.data} {cell.rows} {cell.seed}"]["chance"]
        rows.append({"fell": fell, "rate": rate, "steps": steps, "failed": line["test"] <= chance + 0.02})
    headings = ("the loss on the training set fell", "learning rate beside auto's", "steps", "failed")
    made = [f"| {' | '.join(headings)} |", "|---|---|---|---|"]
    for place, of in pd.DataFrame(rows).groupby(["fell", "rate", "steps"])["failed"]:
        made.append(f"| {' | '.join(place)} | {of.sum()} of {len(of)} |")
    return "\n".join(made)


def _interval(values: pd.Series) -> tuple[float, float]:
    reach = float(student.ppf(0.975, len(values) - 1)) * values.sem()
    return values.mean() - reach, values.mean() + reach


def _score(value: float) -> str:
    return "not run" if pd.isna(value) else f"{value:.3f}".replace("0.", ".", 1)


def _points(value: float, *ends: float) -> str:
    first, *others = (f"{100 * one:+.1f}" for one in (value, *ends))
    return f"{first} [{', '.join(others)}]" if others else first


def without_model(file: Path, seeds: int = 3) -> dict[str, dict[str, float]]:
    """What is right without a model, of the same rows to learn from."""
    found = json.loads(file.read_text()) if file.exists() else {}
    for data in SOURCES:
        for n, seed in ((n, seed) for n in sizes(data) for seed in range(seeds)):
            if (key := f"{data} {n} {seed}") not in found:
                from bertscope.data.baselines import baselines

                task = task_of(data, n, seed)
                found[key] = {_BASELINES[one]: task.score(said).value for one, said in baselines(task).items()}
                file.write_text(json.dumps(found))
    return found


def packed(recipes: Path, search: Path, plain: Mapping[str, Any]) -> dict[str, Any]:
    """All lines, as the page's results have them."""
    lines = {
        name: [[float(f"{one:.6g}") if isinstance(one, float) else one for one in map(line.get, _COLUMNS)]
               for line in told(file).values()]
        for name, file in (("recipes", recipes), ("search", search))
    }  # fmt: skip
    return {"study": "recipe", "runs": [], "columns": _COLUMNS, "without": plain, **lines, "results": {}}


_OF_HEADS = ("data", "model", "rows", "seed", "head_rate", "validation", "test")


def with_heads(kept: Mapping[str, Any], file: Path, **about: str) -> dict[str, Any]:
    """The page's results, with what these lines say of heads that learn faster."""
    lines = [[line[one] for one in _OF_HEADS] for line in told(file).values()]
    return {**kept, "heads": {**about, "lines": lines}}


if __name__ == "__main__":
    first, second = map(Path, sys.argv[1:3])
    about = dict(zip(("made", "device", "commit"), sys.argv[3:6], strict=True))
    if sys.argv[1] == "heads":
        write(with_heads(json.loads(KEPT.read_text(encoding="utf-8")), second, **about), KEPT)
        raise SystemExit
    write(packed(first, second, without_model(first.with_suffix(".baselines.json"))) | about, KEPT)
