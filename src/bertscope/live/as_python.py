"""The lines of Python that give what a page shows: open, change, predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.live.changes import Parts
from bertscope.live.checkpoints import Side
from bertscope.live.typed import Typed
from bertscope.models.encoder import Encoder

_NAMES = ("model", "base")
_SHARES = {
    "classification": "torch.tensor(said).softmax(-1)",
    "choices": "torch.tensor(said).softmax(-1)",
    "tokens": "torch.tensor(said).softmax(-1)",
    "several": "torch.tensor(said).sigmoid()",
    "one_logit": "torch.tensor(said).sigmoid()",
}
"""From what a model says to probabilities, by kind; of other kinds it is told as it is."""
_OWN = {
    "vectors": ("bertscope.models.outputs.sentence_vectors", "Cosines"),
    "masked": ("bertscope.live.checkpoints", "TypedMasks"),
}
"""Outputs that a model gives only if it is asked for them: where their class is."""


@dataclass(frozen=True, eq=False)
class Given:
    """What was opened, as whoever opened it named it."""

    model: Any
    base: Any
    data: Any
    reading: Mapping[str, Any]


def as_python(given: Given, sides: Sequence[Side], read: Sequence[Typed], every: Sequence[Parts]) -> str:
    """Of each checkpoint that says something: `p_model` and `p_base` are what the page tells of it."""
    imports = {"import bertscope", "import torch"}
    lines = _opened(given, sides, imports)
    for place, (side, typed, parts) in enumerate(zip(sides, read, every, strict=True)):
        if typed.asked is not None:
            lines += ["", *_predicted(place, side, typed, parts, imports)]
    plain = sorted(line for line in imports if line.startswith("import"))
    return "\n".join([*plain, *sorted(imports - set(plain)), "", *lines, ""])


def _opened(given: Given, sides: Sequence[Side], imports: set[str]) -> list[str]:
    lines = []
    for name, one in zip(_NAMES, (given.model, given.base), strict=True):
        if isinstance(one, str | Path):
            lines.append(f"{name} = bertscope.load({str(one)!r})")
        elif isinstance(one, Encoder):
            lines.append(f"# {name} is the Encoder that explore was given")
        elif one is not None:
            lines.append(f"# {name}: the model that explore was given, opened: bertscope.load(...)")
    if any(side.task is not None for side in sides):
        if isinstance(given.data, str | Path):
            how = "".join(f", {name}={value!r}" for name, value in given.reading.items())
            lines.append(f"data = bertscope.read_task({str(given.data)!r}{how})")
        else:
            lines.append("# data is the task that explore was given")
    if len(sides) > 1 and sides[1].encoder is not sides[1].opened:
        imports.add("from bertscope.live.checkpoints import under_task_head_of")
        lines.append("base = under_task_head_of(model, base)  # its weights under the model's task head")
    return lines


def _predicted(place: int, side: Side, typed: Typed, parts: Parts, imports: set[str]) -> list[str]:
    assert typed.asked is not None
    name, kind = _NAMES[place], typed.asked.kind
    own = kind in _OWN and (side.task is None or side.task.kind != kind or kind == "masked")
    lines = [f"texts = bertscope.Examples({_examples(typed)})"]
    if typed.asked.output is not None or parts.mode == "mean":
        owner = "model" if place and side.task is not None and side.encoder is not side.opened else name
        lines.append(f"task = data.asked_of({owner})")
    blocks = _blocks(place, side, parts, imports, lines)
    lines.append(f"with {', '.join([*blocks, 'torch.inference_mode()'])}:")
    if own:
        module, output = _OWN[kind]
        imports.add(f"from {module} import {output}")
        lines.append(f"    asked = {output}({name})")
        if kind == "masked":
            lines += ["    (batch,) = asked.batches(texts)", f"    p_{name} = asked.run(batch).logits.softmax(-1)"]
            return [*lines, f"print({name}.tokenizer.convert_ids_to_tokens(p_{name}.argmax(-1)))"]
        imports.add("from bertscope.models.predict import predicted")
        lines.append("    said = predicted(asked, texts).logits[0]")
    else:
        output = ", task.output" if typed.asked.output is not None else ""
        lines.append(f"    said = {name}.predict(texts{output}).logits[0]")
    lines.append(f"p_{name} = {_SHARES.get(kind, 'said')}")
    named = kind in ("classification", "several") and bool(typed.encoder.labels)
    shown = f"dict(zip({name}.labels, p_{name}.tolist()))" if named else f"p_{name}.tolist()"
    return [*lines, f"print({shown})"]


def _examples(typed: Typed) -> str:
    examples = typed.examples
    held = {"ids": examples.ids, "text": examples.text, "pair": examples.pair, "choices": examples.choices,
            "words": examples.words}  # fmt: skip
    return ", ".join(f"{name}={value!r}" for name, value in held.items() if value is not None)


def _blocks(place: int, side: Side, parts: Parts, imports: set[str], lines: list[str]) -> list[str]:
    """The blocks in which the changes hold; what they need is added to the lines."""
    name, other = _NAMES[place], _NAMES[1 - place]
    found = []
    if parts.graft:
        imports |= {"from bertscope.live.changes import places_of",
                    "from bertscope.models.grafting import Weights, weights_of_base"}  # fmt: skip
        lines += [
            f"weights = Weights({name})",
            f"lent = weights_of_base(weights, {other})",
            f"parts = {sorted(map(str, parts.graft))!r}",
            "places = [place for part in parts for place in places_of(weights, part)]",
        ]
        found.append("weights.lend(places, lent.__getitem__)")
    if parts.off:
        how = f"off={[str(unit) for unit in sorted(parts.off)]!r}, mode={parts.mode!r}"
        if parts.mode == "mean":
            assert side.task is not None
            lines += [
                f"some = task.validation.take(range({side.mean_rows}))",
                f"reference = {name}.means(some, task.output)  # before anything is exchanged",
            ]
            how += ", reference=reference"
        found.append(f"{name}.gates({how})")
    return found
