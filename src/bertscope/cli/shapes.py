"""`bertscope train-patterns`: the classifiers that `patterns` uses, made again from labelled maps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal


def train_patterns(
    folder: Path,
    /,
    *,
    method: tuple[Literal["features", "cnn"], ...] = ("features", "cnn"),
    out: Path | None = None,
    seed: int = 0,
) -> None:
    """Train the classifiers of attention maps on labelled ones, and say how good they are on heads they never saw.

    Parameters
    ----------
    folder
        Labelled maps: maps.safetensors, maps.jsonl, labels.csv and second.csv, as patterns/README.md says.
    method
        Which: features (the small net over closed-form numbers), cnn (the paper's network over the picture).
    out
        Write the trained nets to this folder, as NAME.safetensors. They are trained without the quarter of the heads
        that they are judged on.
    seed
        Of the weights at the start and of the order of the maps.
    """
    from rich.console import Console
    from rich.table import Table

    from bertscope.analyses.shapes import CLASSES
    from bertscope.analyses.shapes.labelled import agreement, read_labelled
    from bertscope.analyses.shapes.learn import evaluate, held_out, learn
    from bertscope.analyses.shapes.net import write_net

    console = Console(highlight=False)
    labelled = read_labelled(folder)
    both = agreement(folder)
    counts = ", ".join(f"{name} {(labelled.label == place).sum()}" for place, name in enumerate(CLASSES))
    console.print(f"{len(labelled)} maps: {counts}", soft_wrap=True)
    if both:
        console.print(
            f"two labellers agree on {both['share']:.2f} of {both['maps']} maps (kappa {both['kappa']:.2f})"
        )
    table = Table(box=None, pad_edge=False)
    for column in ("classifier", "held out"):
        table.add_column(column)
    for column in ("maps", "macro F1", "95% interval", "accuracy", *CLASSES):
        table.add_column(column, justify="right")
    for name in method:
        found = evaluate(labelled, name, seed=seed)
        for one in found:
            table.add_row(
                name, one.held_out, str(one.maps), f"{one.macro_f1:.3f}", f"{one.low:.3f} to {one.high:.3f}",
                f"{one.accuracy:.3f}", *(f"{one.f1[label]:.2f}" for label in CLASSES),
            )  # fmt: skip
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            net = learn(labelled.take(~held_out(labelled)), name, seed=seed)
            facts = {"evaluations": [asdict(one) for one in found], "agreement": both, "seed": seed}
            write_net(net, out / f"{name}.safetensors", facts)
    console.print(table)
