"""`bertscope train-patterns`: the classifiers that `patterns` uses, made again from labelled maps; and the labels of
maps of one's own model, by which its shares are corrected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bertscope.core.errors import UserError
from bertscope.data.options import DataOptions


@dataclass(frozen=True)
class LabelDataOptions(DataOptions):
    """How the data is read, where `--label` is another thing."""

    label: Annotated[str | None, Parameter(name="--label-column")] = None
    """The column with the label or score."""


def train_patterns(
    folders: tuple[Path, ...] = (),
    /,
    *,
    out: Path | None = None,
    seed: int = 0,
    label: str | None = None,
    on: str | None = None,
    maps: int = 100,
    data: Annotated[
        LabelDataOptions, Parameter(name="*", group="How the data is read, with --label")
    ] = LabelDataOptions(),  # noqa: B008 (frozen)
) -> None:
    """Train the classifiers of attention maps on labelled maps, and report how good they are on heads and models they
    never saw. Or, with --label, label maps of a model yourself: `patterns --labels` uses them to correct its shares.

    Parameters
    ----------
    folders
        Folders of labelled maps, as patterns/README.md describes. The first one defines what the classes mean; the
        others are trained on too.
    out
        Write the trained nets to this folder, as classifiers.safetensors: for both labellers, and for each. With
        --label: the file of labels, saved after every answer; the same command continues it.
    seed
        Seed of the initial weights, the generated maps and the training; with --label: of which maps are
        drawn.
    label
        The model whose maps you label: random ones are drawn, and each is shown and its class asked for.
    on
        With --label: the texts, as for `patterns`.
    maps
        With --label: how many maps to label.
    """
    if label is not None:
        if folders:
            raise UserError(f"--label draws maps of {label} and reads no folders; leave out {folders[0]}")
        if on is None or out is None:
            raise UserError(f"--label {label} needs --on DATA and --out FILE, where the labels go")
        from bertscope.cli.labelling import label_maps

        label_maps(label, on, out, count=maps, seed=seed, reading=data.given())
    elif not folders:
        raise UserError(
            "name a folder of labelled maps to train on, or label maps: --label MODEL --on DATA --out FILE"
        )
    elif on is not None:
        raise UserError("--on goes with --label MODEL; leave it out")
    else:
        _train(folders, out, seed)


def _train(folders: tuple[Path, ...], out: Path | None, seed: int) -> None:
    from rich.table import Table

    from bertscope.analyses.shapes import CLASSES, LABELS
    from bertscope.analyses.shapes.labelled import agreement, read_labelled
    from bertscope.analyses.shapes.learn import cross_validate, learn, sample
    from bertscope.analyses.shapes.net import write_nets
    from bertscope.core.console import Console

    console = Console()
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
