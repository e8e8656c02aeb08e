"""Labelling maps at a terminal: each is drawn, a key is asked for, and every answer is in the file at once.

Nothing is shown of model, layer, head or text, and no classifier is asked: labels are of what is seen.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.analyses.attention.maps import LayerMaps, read_maps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.own_labels import OwnLabels, Places, read_labels
from bertscope.core.errors import UserError
from bertscope.core.files import check_file, check_writable, write_text
from bertscope.report.png import START, head_and_body, palette

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder

KEYS = dict(zip("vdmbh", CLASSES, strict=True)) | {str(at): name for at, name in enumerate(CLASSES, start=1)}
"""What is typed for a class; m is for mixed."""
DEFINITIONS = {
    "vertical": "for nearly all rows most of the mass is in one or a few columns, shared by all rows or by those of "
    "a text",
    "diagonal": "for most rows most of the mass is on the previous, the same or the next tokens: a band along the "
    "diagonal, possibly offset, clearly narrower than the text",
    "vertical+diagonal": "both a band and a column or a few are clearly visible, and neither is a mere trace",
    "block": "roughly uniform within one of the two texts of a pair (rectangles), or nearly uniform over a single "
    "text or a whole pair",
    "heterogeneous": "none of these: scattered cells, or many columns of unequal weight, that depend on the words",
}
"""As patterns/README.md has them."""
_ASKED = "v vertical, d diagonal, m vertical+diagonal, b block, h heterogeneous (? u q): "
_CELLS = 38  # at two characters each, with a margin, 80 columns
_SHADES = (" ░▒▓█", " .+*#")
_MARK = "<!-- bertscope: maps to label -->"
_BRIGHT = 0.99  # the quantile of a map's cells that is as dark as can be


@dataclass(frozen=True)
class ShownMap:
    """A map [query, key] without padding, and its tokens: 0 of the first text, 1 of the second, 2 special."""

    attention: np.ndarray
    tokens: np.ndarray

    @property
    def shade(self) -> np.ndarray:
        """[query, key]: 0 to 1, the square root, so that faint cells are seen; the brightest are cut off."""
        top = min(1.0, max(float(np.quantile(self.attention, _BRIGHT)), 4 / len(self.attention)))
        return np.sqrt(np.clip(self.attention / top, 0, 1))


class _Collected:
    """Keeps the drawn maps of a pass."""

    needs: frozenset[str] = frozenset()

    def __init__(self, places: Places) -> None:
        self._places = places
        self.maps: dict[int, ShownMap] = {}

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        for at, one in enumerate(maps[0].each, start=layer):
            for which, row, head in zip(*self._places.seen(at, view), strict=True):
                n = int(view.host.lengths[row])
                tokens = np.where(view.host.added[row, :n], 2, view.host.segments[row, :n])
                self.maps[int(which)] = ShownMap(one.maps[row, head, :n, :n].cpu().numpy().copy(), tokens)


def label_maps(model: str, on: str, out: Path, *, count: int, seed: int, reading: Mapping[str, Any]) -> None:
    """Ask for the labels that the file doesn't have yet."""
    if count < 1 or seed < 0:
        raise UserError(f"--maps is {count} and --seed {seed}; give 1 or more maps, and a seed of 0 or more")
    known = read_labels(out) if out.exists() else None
    if known and known.seed != seed:
        raise UserError(f"{out} was drawn with --seed {known.seed}; give that seed, or another file")
    done = known is not None and len(known.labels) >= count
    if not done and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("train-patterns --label shows maps and asks for their classes: run it at a terminal")
    page = out.with_name(f"{out.name}.html")
    check_writable(out)
    check_file(page, _MARK)
    encoder, examples = _opened(model, on, reading)
    labels = known or OwnLabels.begun(encoder, examples, seed)
    labels.places(encoder, examples)  # refuses those of another model, or of other texts
    places = Places.drawn(len(examples), encoder.head_counts, seed, count)
    if not done:
        maps = _maps(encoder, examples, places)
        write_text(page, _page(maps))
        print(f"The maps are also in {page}, larger, for a browser. Every answer is in {out} at once.")
        labels = _session(labels, places, examples, maps, out)
    _tell(labels, len(places.rows), shlex.join(["bertscope", "patterns", model, "--on", on, "--labels", str(out)]))


def _opened(model: str, on: str, reading: Mapping[str, Any]) -> tuple[Encoder, Examples]:
    from bertscope.data.corpus import read_examples
    from bertscope.models.load import open_model

    examples = read_examples(on, **reading)
    if not len(examples):
        raise UserError(f"there are no texts in {on}")
    return open_model(model), examples


def _maps(encoder: Encoder, examples: Examples, places: Places) -> list[ShownMap]:
    """The drawn maps, in the order of the draw, from a pass over the texts that they are on."""
    needed, at = np.unique(places.rows, return_inverse=True)
    collected = _Collected(Places(at, places.units))
    read_maps([encoder], examples.take(needed), [collected])
    return [collected.maps[place] for place in range(len(places.rows))]


def _session(labels: OwnLabels, places: Places, examples: Examples, maps: Sequence[ShownMap], out: Path) -> OwnLabels:
    """Ask until every map has a label, or somebody stops; the file holds each answer before the next is asked for."""
    shown = -1
    while (at := len(labels.labels)) < len(maps):
        if shown != at:
            print(f"\nmap {at + 1} of {len(maps)}\n{drawing(maps[at])}")
            shown = at
        try:
            said = input(_ASKED).strip().lower()
        except EOFError:
            return labels
        if said == "q":
            return labels
        if said == "u" and labels.labels:
            labels = labels.without_last()
        elif said in KEYS:
            labels = labels.with_label(int(places.rows[at]), places.units[at], examples, KEYS[said])
        else:
            print({"?": _help(), "u": "there is nothing to take back"}.get(said, "a letter or a number; ? explains"))
            continue
        labels.save(out)
    return labels


def drawing(shown: ShownMap) -> str:
    """The map in characters, at most 80 columns wide: rows look, columns are looked at. Of longer maps several
    columns are added up, and the mean of several rows is taken. In the margin [CLS] and [SEP] are
    marked, and the second text."""
    n = len(shown.attention)
    cells = min(n, _CELLS)
    starts = np.arange(cells) * n // cells
    sizes = np.diff(starts, append=n)
    summed = np.add.reduceat(np.add.reduceat(shown.attention, starts, 0), starts, 1)
    shades = _SHADES[0] if _can_print(_SHADES[0]) else _SHADES[1]
    smaller = ShownMap(summed / sizes[:, None], np.maximum.reduceat(shown.tokens, starts))
    level = np.ceil(smaller.shade * (len(shades) - 1) - 0.5).astype(int)
    margin = ["-:S"[kind] for kind in smaller.tokens]
    rows = [f"{mark} " + "".join(2 * shades[one] for one in row) for mark, row in zip(margin, level, strict=True)]
    return "\n".join(["  " + "".join(2 * mark for mark in margin), *rows])


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _help() -> str:
    keys = list(KEYS.items())[: len(CLASSES)]
    told = [
        "What counts is where the mass is, not which faint structure can still be made out. Where two could be said, "
        "the one that holds more of the mass is the label.",
        *(f"{letter} or {at}: {name}: {DEFINITIONS[name]}" for at, (letter, name) in enumerate(keys, start=1)),
        "u: take the last answer back",
        "q: stop; the same command goes on",
        "In the margins S is [CLS] or [SEP], - the first text, : the second of a pair.",
    ]
    return "\n".join(fill(line, 78, subsequent_indent="    ") for line in told)


def _page(maps: Sequence[ShownMap]) -> str:
    """All maps, numbered, as pictures: large as in the terminal, with its margin (grey: the second text, black:
    special), small as they are, white 0 and black 1."""
    colours = palette(["#ffffff", "#000000"])
    figures = []
    for number, shown in enumerate(maps, start=1):
        n = len(shown.attention)
        large = np.zeros((n + 2, n + 2))
        large[0, 2:] = large[2:, 0] = np.array([0, 110, 255])[shown.tokens]
        large[2:, 2:] = 255 * shown.shade
        pieces = [head_and_body(levels.round()) for levels in (large, 255 * shown.attention)]
        images = [f'<img alt="map {number}" src="{START}{head}{colours}{body}">' for head, body in pieces]
        figures.append(f'<figure id="{number}"><figcaption>map {number}</figcaption>{"".join(images)}</figure>')
    told = "".join(f"<li><b>{escape(name)}</b>: {escape(words)}</li>" for name, words in DEFINITIONS.items())
    return (
        f"<!doctype html>\n{_MARK}\n<meta charset='utf-8'><title>Maps to label</title>\n<style>body{{font-family:"
        "sans-serif}figure{display:inline-block;margin:1em}img{width:360px;image-rendering:pixelated;border:1px "
        f"solid #aaa}}img+img{{width:140px;margin-left:8px}}</style>\n<ul>{told}</ul>\n" + "\n".join(figures) + "\n"
    )


def _tell(labels: OwnLabels, wanted: int, command: str) -> None:
    counts = [f"{name} {sum(one.label == name for one in labels.labels)}" for name in CLASSES]
    print(f"{len(labels.labels)} of {wanted} maps are labelled: {', '.join(counts)}")
    print(command if len(labels.labels) >= wanted else "run the same command to go on")
