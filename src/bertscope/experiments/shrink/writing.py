"""What `shrink` writes: the cut model, and beside it the whole one in int8 where that is the one to take."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.core.folders import whole_folder
from bertscope.experiments.comparison import CUT, CUT_INT8, WHOLE_INT8
from bertscope.models.export import write_description
from bertscope.models.source import EXPORT

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

BESIDE = "whole-int8"
"""The folder inside that holds the whole model's int8 file."""
WHERE = {
    WHOLE_INT8: f"`{BESIDE}/model-int8.onnx`, with its tokenizer beside it (the cut model is the folder itself)",
    CUT: "the folder itself",
    CUT_INT8: "`model-int8.onnx`",
}
"""Where each form lies in the folder that is written."""


@contextmanager
def written_to(out: Path | None) -> Iterator[Path]:
    """Where the model is written: `out`, whole or not at all; or a place that nobody sees."""
    if out is None:
        with tempfile.TemporaryDirectory() as elsewhere:
            yield Path(elsewhere)
    else:
        with whole_folder(out, EXPORT) as scratch:
            yield scratch


def save_cut(encoder: Encoder, folder: Path) -> None:
    """Write the model; its config says by name what was cut, but of neurons only how many: there are thousands."""
    notes = encoder.model.config.bertscope
    *earlier, last = notes["cut"]
    named = [unit for unit in last if not unit.startswith("neuron")]
    neurons = [f"{len(last) - len(named)} neurons"] if len(last) > len(named) else []
    encoder.model.config.bertscope = notes | {
        "name": encoder.name,
        "shrunk": True,
        "cut": [*earlier, named + neurons],
    }
    encoder.save(folder)


def keep_beside(whole: Encoder, folder: Path, is_best: bool) -> None:
    """Of the whole model's ONNX files the int8 one stays where it is the one to take, with what describes it."""
    beside = folder / BESIDE
    if not is_best:
        shutil.rmtree(beside, ignore_errors=True)
        return
    (beside / "model.onnx").unlink()
    write_description(whole, beside)
