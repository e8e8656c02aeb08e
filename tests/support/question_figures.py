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
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import bertscope
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.core.store import Store
from bertscope.core.tinted import KIND
from bertscope.report.charts import pictures
from bertscope.study.file import Study, read_study
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
        "scratch": "arms", "shrink": "left", "truncate": "scores",
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
_OF = OF | {"pretrain": "two layers that learn from 1,000 sentences of the demo language in 400 steps"}
NONE = ("masked-words", "states")
"""Questions without a figure: two numbers, and files."""
_ANSWER = {"finetune": {"without": ""}}
"""Which answer is drawn where a study makes several."""
_ON_THE_WAY = ("claims", "finetune", "course", "courses")
"""What no study asks for by name."""
_PICTURE = re.compile(r"!\[[^\]]*\]\(figures/[\w-]+\.svg\)\n\n(?:\*Drawn from [^\n]*\*\n\n)?")
_LAYERS, _SEEDS = 4, range(5)
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
            "short", task, recipe="pocket", seed=seed, keep=6, out=f"runs/{seed}",
            store="series-store",
        )  # fmt: skip
    texts = bertscope.read_examples("demo/corpus").text
    Path("notes.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def study_of(name: str, wanted: Collection[str]) -> Study:
    """The study with what isn't wanted left out; the ledger and what is made on the way rest on all of it."""
    spared = set(FIGURES[name]) - {*wanted, *_ON_THE_WAY} if not {*wanted} & {*_ON_THE_WAY} else ()
    sets = [f"questions.{question}=false" for question in sorted(spared)]
    return read_study(Path(__file__).with_name(f"figures-{name}.yaml"), sets)


def draw(name: str, study: Study, wanted: Collection[str]) -> None:
    store, steps = Store(f"{name}-store"), list(made(study.steps))
    for question in wanted:
        about = _ANSWER.get(question, {})
        own = [step for step in steps if step.name == question]
        step = next(step for step in own if all(step.config[key] == value for key, value in about.items()))
        title, picture = drawn(store.result(step).in_words(), FIGURES[name][question])
        (PAGES / "figures" / f"{question}.svg").write_text(picture, encoding="utf-8")
        page = PAGES / f"{question}.md"
        page.write_text(with_picture(page.read_text(encoding="utf-8"), name, question, title), encoding="utf-8")


def made(steps: Iterable[Step | Root]) -> Iterator[Step]:
    """Steps, each followed by those that it rests on."""
    for step in steps:
        if isinstance(step, Step):
            yield step
            yield from made(step.inputs.values())


def with_picture(page: str, study: str, name: str, title: str) -> str:
    """A question's page with its picture at the end of how to read it."""
    shown = f"![{title}](figures/{name}.svg)\n\n*Drawn from {_OF.get(name, OF[study])}.*\n\n"
    return _PICTURE.sub("", page).replace("## Pitfalls\n", f"{shown}## Pitfalls\n", 1)


def drawn(result: Result, key: str) -> tuple[str, str]:
    """The figure's title, and the figure."""
    figure = next((figure for figure in result.figures if figure.key.startswith(key)), None)
    if figure is None:
        there = ", ".join(figure.key for figure in result.figures)
        sys.exit(f"{result.question} has no figure {key}, but {there}: ask for what it shows in its study")
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
            asked = study_of(study, wanted)
            outcome = bertscope.run_study(asked, store=f"{study}-store")
            for step, why in outcome.failed.items():
                sys.exit(f"{step}: {why}")
            draw(study, asked, wanted)
            wall, own = time.perf_counter() - begun[0], time.process_time() - begun[1]
            print(f"{study}: {len(wanted)} figures, {wall / 60:.1f} minutes, {own / 60:.1f} of a processor")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(made, ())
