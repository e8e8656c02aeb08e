"""The table of docs/gpu.md: of which families and objectives a training's steps are recorded as CUDA graphs.

Run this file on a machine with a GPU: it trains a tiny model of each for a few steps, recorded and one by one, and
writes the table, with the largest difference between the two losses.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import CONFIG_MAPPING, AutoModel

import contrast_sets
import output_runs
from bertscope.models.load import load
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.training.distill import Teacher
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import Training
from bertscope.training.objective import Labelled
from bertscope.training.randomness import own_randomness
from doc_pages import HERE
from families import CONFIGS, tiny_model

PAGE = HERE / "docs" / "gpu.md"
OBJECTIVES = (*MODEL_OUTPUTS, "distillation", "contrastive")
EVERY_OBJECTIVE = ("bert", "roberta", "distilbert", "modernbert", "deberta-v2")
"""Families that all objectives are tried with; others are tried with labels of texts alone."""
_BLOCK = re.compile(r"(<!-- captured -->\n).*?(<!-- end -->)", re.DOTALL)
_SETTINGS = FinetuneConfig(epochs=1, learning_rate=1e-4, batch_size=8, warmup=0.0)
_STEPS = [np.arange(8), np.arange(8, 13), np.arange(3, 11)]  # one of them isn't full


@dataclass(frozen=True)
class Tried:
    """What came of one family with one objective."""

    family: str
    objective: str
    recorded: bool
    why: str
    """Why it isn't recorded; empty where it is."""
    apart: float
    """How far losses are from those of steps one by one, as a share of them."""

    @property
    def cell(self) -> str:
        return "captured" if self.recorded else "eager"


def asked() -> Iterator[tuple[str, str]]:
    """Families with objectives, the important first."""
    yield from ((family, objective) for family in EVERY_OBJECTIVE for objective in OBJECTIVES)
    others = [family for family in CONFIGS if family not in EVERY_OBJECTIVE and family in CONFIG_MAPPING]
    yield from ((family, "classification") for family in others)


def tried(family: str, objective: str, tokenizer: Any) -> Tried:
    """Train a tiny model, once recorded and once one by one, without dropout."""
    losses, note, replayed = [], "", 0
    for record in (False, True):
        encoder, made = _objective(family, objective, tokenizer)
        still(encoder.model)
        run = Training(encoder, made, _SETTINGS.settled(24, 100), None)
        run.halves = False
        assert run.captured is not None
        run.captured.note = "" if record else "one by one"
        encoder.model.train()
        with own_randomness(encoder.device), _uncaring():
            for things in _STEPS:
                run.captured.step([things], 1e-4)
            losses.append(run.captured.told()[:, 0])
        note, replayed = run.captured.note, run.captured.replayed
    apart = float(np.abs(losses[1] / losses[0] - 1).max())
    return Tried(family, objective, replayed == len(_STEPS), note, apart)


def _objective(family: str, objective: str, tokenizer: Any) -> tuple[Any, Any]:
    if objective == "contrastive":
        encoder = load(tiny_model(family, AutoModel).to("cuda"), tokenizer=tokenizer)
        return encoder, contrast_sets.objective(encoder, 2, contrast_sets.QUICK)
    kind = "classification" if objective == "distillation" else objective
    _, encoder, task = output_runs.models(kind, family, tokenizer)
    said = np.random.default_rng(0).normal(size=(len(task.train), len(task.labels))).astype(np.float32)
    teacher = Teacher(said) if objective == "distillation" else None
    return encoder, Labelled(encoder, task.asked_of(encoder), teacher=teacher)


def still(model: torch.nn.Module) -> None:
    """Take the dropout out of a model: what is filled up draws numbers, too."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


@contextmanager
def _uncaring() -> Iterator[None]:
    """Full single precision: the two are compared."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def table(found: list[Tried]) -> str:
    """Families down, objectives across; what wasn't tried is left blank."""
    cells = {(one.family, one.objective): one.cell for one in found}
    families = dict.fromkeys(one.family for one in found)
    rows = [
        f"| `{family}` | " + " | ".join(cells.get((family, one), "") for one in OBJECTIVES) + " |"
        for family in families
    ]
    header = "| family | " + " | ".join(f"`{one}`" for one in OBJECTIVES) + " |"
    return "\n".join([header, "|---" * (1 + len(OBJECTIVES)) + "|", *rows]) + "\n"


def documented() -> dict[tuple[str, str], str]:
    """What the page says, by family and objective."""
    block = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert block is not None, "the page has lost its table"
    lines = block[0].splitlines()[1:-1]
    header, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    return {
        (row[0], objective): cell for row in rows for objective, cell in zip(header[1:], row[1:], strict=True) if cell
    }


def main() -> None:
    tokenizer = load("pocket", device="cpu").tokenizer
    found = [tried(family, objective, tokenizer) for family, objective in asked()]
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda block: block[1] + table(found) + block[2], page), encoding="utf-8")
    print(f"{sum(one.recorded for one in found)} of {len(found)} are recorded", file=sys.stderr)


if __name__ == "__main__":
    main()
