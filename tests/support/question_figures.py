"""The figures on the questions' pages (docs/questions/figures), from the built-in model and language alone.

`make figures` asks everything and draws all anew; after another `pocket` that is all there is to do. Four studies
beside this file say what is asked: one of the whole model, the others, which train often, of its lowest four layers.
`python tests/support/question_figures.py FOLDER erase lottery` keeps the answers in FOLDER, finds there again what
was asked before, and draws these two.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

import bertscope
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.core.tinted import KIND
from bertscope.report.charts import pictures
from question_pages import PAGES
from tinted_svg import tinted_svg

FIGURES = {
    "whole": {
        "ablate": "head", "change": "layers_cosine", "check": "scores", "circuit": "head_faithful",
        "claims": "verdicts", "erase": "curves", "errors": "reliability", "explain": "texts",
        "features": "layers_all_tokens", "finetune": "learning_curve", "geometry": "cone", "graft": "sums",
        "importance": "heads_off", "minimal-pairs": "phenomena", "patch": "layer_denoise", "patterns": "layer_parts",
        "probe": "accuracy", "project": "points", "prune": "trajectory", "readout": "score",
        "redundancy": "heads_by_layer", "relations": "relations", "sentences": "spearman", "similarity": "layers",
        "structure": "uuas_by_layer", "versus": "outcomes",
    },
    "short": {
        "bias": "effects", "contrast": "baseline", "freeze": "movement", "lottery": "arms_s", "mislabelled": "curve",
        "scratch": "arms", "shrink": "trade", "truncate": "scores",
    },
    "overlap": {"overlap": "pairs"},
    "series": {"course": "lines", "courses": "means", "forgetting": "forgetting", "pretrain": "learning_curve"},
}  # fmt: skip
"""By the study that asks it: which figure shows what a question is about; how its key begins."""
_LOOK = "how such a figure looks, not a finding"
_CUT = "the built-in model's lowest four layers"
OF = {
    "whole": "the built-in model on the demo language",
    "short": f"{_CUT} on the demo language, one short training each: {_LOOK}",
    "overlap": f"{_CUT}, trained on 200 rows of two tasks of the demo language: {_LOOK}",
    "series": f"{_CUT} along short trainings on the demo language: {_LOOK}",
}
"""What a picture is of: the line under it."""
_OF = OF | {"pretrain": "two layers that learn from 2,000 sentences of the demo language in 400 steps"}
NONE = ("masked-words", "states")
"""Questions without a figure: two numbers, and files."""
_ANSWER = {"finetune": {"without": ""}}
"""Which answer is drawn where a study makes several."""
_PICTURE = re.compile(r"!\[[^\]]*\]\(figures/[\w-]+\.svg\)\n\n(?:\*Drawn from [^\n]*\*\n\n)?")
_LAYERS, _SEEDS = 4, (0, 1, 2)
_OF_MARKS = re.compile(r' aria-\w+="[^"]*"| role="graphics-symbol"')
"""What is said of every single mark takes more room than the marks."""


def prepare() -> None:
    """What the studies find in the current folder: the lowest layers, trainings of them, a plain text."""
    if not Path("short").exists():
        whole = bertscope.load("pocket")
        whole.cut([f"layer:{layer}" for layer in range(_LAYERS + 1, whole.n_layers + 1)]).save("short")
    task = bertscope.read_task("demo/sentiment")
    for seed in _SEEDS:
        bertscope.finetune(
            "short", task, recipe="pocket", seed=seed, keep=6, keep_spacing="logarithmic", out=f"runs/{seed}",
            store="series-store",
        )  # fmt: skip
    texts = bertscope.read_examples("demo/corpus", limit=2000).text
    Path("notes.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def ask(study: str) -> None:
    outcome = bertscope.run_study(Path(__file__).with_name(f"figures-{study}.yaml"), store=f"{study}-store")
    for step, why in outcome.failed.items():
        print(f"{step}: {why}", file=sys.stderr)


def draw(study: str, wanted: Collection[str]) -> None:
    store = Store(f"{study}-store")
    for stored in store.finished():
        name = stored.step.name
        others = any(stored.step.config[key] != value for key, value in _ANSWER.get(name, {}).items())
        if name in wanted and not others:
            title, picture = drawn(store.result(stored.step).in_words(), FIGURES[study][name])
            (PAGES / "figures" / f"{name}.svg").write_text(picture, encoding="utf-8")
            page = PAGES / f"{name}.md"
            page.write_text(with_picture(page.read_text(encoding="utf-8"), study, name, title), encoding="utf-8")


def with_picture(page: str, study: str, name: str, title: str) -> str:
    """A question's page with its picture at the end of how to read it."""
    shown = f"![{title}](figures/{name}.svg)\n\n*Drawn from {_OF.get(name, OF[study])}.*\n\n"
    return _PICTURE.sub("", page).replace("## Pitfalls\n", f"{shown}## Pitfalls\n", 1)


def drawn(result: Result, key: str) -> tuple[str, str]:
    """The figure's title, and the figure."""
    figure = next(figure for figure in result.figures if figure.key.startswith(key))
    table = result.tables[figure.table]
    if figure.kind == KIND:
        return figure.title, tinted_svg(figure, table)
    (svg,) = pictures(figure, table, ["svg"]).values()
    return figure.title, _OF_MARKS.sub("", svg.decode())


def main(folder: str, names: Collection[str]) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    prepare()
    for study, figures in FIGURES.items():
        wanted = [name for name in figures if not names or name in names]
        if wanted:
            begun = time.perf_counter(), time.process_time()
            ask(study)
            draw(study, wanted)
            wall, own = time.perf_counter() - begun[0], time.process_time() - begun[1]
            print(f"{study}: {len(wanted)} figures, {wall / 60:.1f} minutes, {own / 60:.1f} of a processor")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(made, ())
