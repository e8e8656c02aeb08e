"""The figures on the questions' pages (docs/questions/figures), of answers that a store has.

bertscope demo                                       # asks nearly all of them
.venv/bin/python tests/support/question_figures.py bertscope-store
"""

from __future__ import annotations

import re
import sys

from bertscope.core.store import Store
from bertscope.report.charts import pictures
from question_pages import PAGES

FIGURES = {
    "ablate": "head", "change": "layers_cosine", "check": "scores", "circuit": "head_faithful",
    "contrast": "baseline", "errors": "reliability", "features": "layers_all_tokens", "finetune": "learning_curve",
    "freeze": "movement", "geometry": "cone", "graft": "sums", "importance": "heads_off", "lottery": "arms_s",
    "minimal-pairs": "phenomena", "patch": "layer_denoise", "patterns": "layer_parts", "probe": "accuracy",
    "project": "points",
    "prune": "trajectory", "readout": "score", "redundancy": "heads_by_layer", "relations": "relations",
    "scratch": "arms", "similarity": "layers", "structure": "uuas_by_layer", "truncate": "effects",
    "versus": "outcomes",
}  # fmt: skip
"""Which figure shows what a question is about: how its key begins."""
_OF_MARKS = re.compile(r' aria-\w+="[^"]*"| role="graphics-symbol"')
"""What is said of every single mark takes more room than the marks."""


def write(store: Store) -> None:
    for stored in store.finished():
        name, result = stored.step.name, store.result(stored.step).in_words()
        shown = [figure for figure in result.figures if figure.key.startswith(FIGURES.get(name, "none"))]
        for figure in shown[:1]:
            (svg,) = pictures(figure, result.tables[figure.table], ["svg"]).values()
            (PAGES / "figures" / f"{name}.svg").write_text(_OF_MARKS.sub("", svg.decode()), encoding="utf-8")


if __name__ == "__main__":
    write(Store(sys.argv[1]))
