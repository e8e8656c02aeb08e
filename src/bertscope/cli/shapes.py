"""`bertscope train-patterns`: the classifiers that `patterns` uses, made again from labelled maps."""

from __future__ import annotations

from pathlib import Path


def train_patterns(folders: tuple[Path, ...], /, *, out: Path | None = None, seed: int = 0) -> None:
    """Train the classifiers of attention maps on labelled ones, and say how good they are on heads and on models they
    never saw.

    Parameters
    ----------
    folders
        Labelled maps, as patterns/README.md says. The classes are meant as in the first folder; maps of the others
        are trained on too.
    out
        Write the trained nets to this folder, as classifiers.safetensors: for both labellers, and for each.
    seed
        Of the weights at the start, of the generated maps and of what is random in training.
    """
    from rich.console import Console
    from rich.table import Table

    from bertscope.analyses.shapes import CLASSES, LABELS
    from bertscope.analyses.shapes.labelled import agreement, read_labelled
    from bertscope.analyses.shapes.learn import cross_validate, learn, sample
    from bertscope.analyses.shapes.net import write_nets

    console = Console(highlight=False)
    labelled = read_labelled(folders)
    for place, folder in enumerate(folders):
        here = labelled.take((labelled.about["set"] == place).to_numpy())
        counts = ", ".join(f"{name} {(here.labels[:, 0] == number).sum()}" for number, name in enumerate(CLASSES))
        console.print(f"{folder}: {len(here)} maps: {counts}", soft_wrap=True)
        if both := agreement(here):
            told = f"two labellers agree on {both['share']:.2f} of {both['maps']} maps (kappa {both['kappa']:.2f})"
            console.print(told, soft_wrap=True)
    facts = cross_validate(labelled, seed=seed)
    table = Table(box=None, pad_edge=False)
    for column in ("folder", "held out", "labels"):
        table.add_column(column)
    for column in ("maps", "macro F1", "95% interval", "accuracy", *CLASSES):
        table.add_column(column, justify="right")
    for one in facts["evaluations"]:
        table.add_row(
            folders[one["of_set"]].name, f"every {one['held_out']} in turn", one["labels"], str(one["maps"]),
            f"{one['macro_f1']:.3f}", f"{one['low']:.3f} to {one['high']:.3f}", f"{one['accuracy']:.3f}",
            *(f"{one['f1'][label]:.2f}" for label in CLASSES),
        )  # fmt: skip
    console.print(table)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        nets = {labels: learn(sample(labelled, labels), seed=seed) for labels in LABELS}
        write_nets(nets, out / "classifiers.safetensors", facts)
