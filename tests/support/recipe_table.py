"""The tables of docs/findings/recipe.md, made of what `recipe_trainings.py recipes` wrote.

`python tests/support/recipe_table.py recipes.jsonl` scores the baselines on the same rows (minutes; they are kept
beside the file) and writes the tables anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pandas as pd
from scipy.stats import t as student

from bertscope.data.baselines import baselines
from doc_pages import HERE
from recipe_trainings import MODELS, SOURCES, arms, sizes, task_of, told

PAGE = HERE / "docs" / "findings" / "recipe.md"
SEEDS = 3
_BASELINES = {"bag_of_words": "without", "word_lookup": "without", "chance": "chance"}


def measured(path: Path) -> pd.DataFrame:
    """A row for each data set, model, number of rows and seed: the test set's score by each recipe, and without a
    model."""
    lines, plain = told(path), without_model(path.with_suffix(".baselines.json"))
    rows = []
    for data, model in ((data, model) for model in MODELS for data in SOURCES):
        for n, seed in ((n, seed) for n in sizes(data) for seed in range(SEEDS)):
            found = {arm: lines[cell]["test"] for arm, cell in arms(data, model, n, seed).items() if cell in lines}
            beside = plain[f"{data} {n} {seed}"]
            rows.append({"model": model, "data": data, "rows": n, "seed": seed} | found | beside)
    table = pd.DataFrame(rows)
    same = [
        len(set(arms(*row).values())) == 1 for row in table[["data", "model", "rows", "seed"]].itertuples(index=False)
    ]
    return table.assign(gain=table["auto"] - table["before"], same=same)


def without_model(kept: Path) -> dict[str, dict[str, float]]:
    """What is right without a model, of the same rows to learn from."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for data in SOURCES:
        for n, seed in ((n, seed) for n in sizes(data) for seed in range(SEEDS)):
            if (key := f"{data} {n} {seed}") not in found:
                task = task_of(data, n, seed)
                found[key] = {_BASELINES[one]: task.score(said).value for one, said in baselines(task).items()}
                kept.write_text(json.dumps(found))
    return found


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
    sized = table.assign(size=pd.cut(table["rows"], [0, 100, 300, 1000, 3000, 10_000], labels=_SIZES).astype(str))
    lines = [
        "| rows | data sets | pocket | MiniLM | 300 steps beside 200: pocket | MiniLM |",
        "|---|---|---|---|---|---|",
    ]
    for size in _SIZES:
        of = sized[sized["size"] == size]
        words = [size, str(of["data"].nunique())]
        for column in (of["gain"], of["auto"] - of["fewer"]):
            for model in MODELS:
                each = column[of["model"] == model].groupby(of["data"]).mean()
                words.append("the same" if not each.any() else _points(each.mean(), *_interval(each)))
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


_SIZES = ("100", "300", "1,000", "1,801 to 3,000", "5,749 to 10,000")


def _interval(values: pd.Series) -> tuple[float, float]:
    reach = float(student.ppf(0.975, len(values) - 1)) * values.sem()
    return values.mean() - reach, values.mean() + reach


def _score(value: float) -> str:
    return "not run" if pd.isna(value) else f"{value:.3f}".replace("0.", ".", 1)


def _points(value: float, low: float, high: float) -> str:
    first, *others = (f"{100 * one:+.1f}" for one in (value, low, high))
    return f"{first} [{', '.join(others)}]"


def main() -> None:
    table = measured(Path(sys.argv[1]))
    page = PAGE.read_text(encoding="utf-8")
    for name, made in (("by rows", by_rows(table)), ("cells", cells(table))):
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda at, made=made: f"{at[1]}{made}\n{at[2]}",
            page,
            flags=re.DOTALL,
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
