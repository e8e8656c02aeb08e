"""What each word did for what a checkpoint says, with parts of it changed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bertscope.core.attributions import Attributions, Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.live.changes import Parts, all_of, changed
from bertscope.live.checkpoints import MASK, Side
from bertscope.live.messages import Explain, Explained, Explanation, Word
from bertscope.live.typed import Typed
from bertscope.models.attribution import MOST_NODES, NODES, attribute
from bertscope.models.finite_pass import measuring
from bertscope.models.outputs.base import ModelOutput

_AT_MOST = 2**14
"""Tokens, times points at which the gradient is taken: others wait meanwhile. Texts of 32 tokens have all of them."""
_MISSED = "what the words did misses its sum by more than 1%; leaving each word out needs none"


def explained(sides: Sequence[Side], read: Sequence[Typed], every: Sequence[Parts], asked: Explain) -> Explained:
    """Of each checkpoint; what one of two can't be asked is noted, and refused where none can."""
    found, notes, refused = list[Explanation | None](), list[str](), list[UserError]()
    for place, (side, typed, parts) in enumerate(zip(sides, read, every, strict=True)):
        other = sides[1 - place] if len(sides) > 1 else None
        try:
            one = _explained(side, other, typed, parts, asked)
            found.append(None if one is None else _told(typed, one))
            if one is not None and one.missed.any():
                notes.append(f"{side.opened.name}: {_MISSED}")
        except UserError as error:
            found.append(None)
            refused.append(error)
            notes.append(f"{side.opened.name}: {error}")
    if refused and not any(found):
        raise refused[0]
    return Explained(found, notes)


def _explained(side: Side, other: Side | None, typed: Typed, parts: Parts, asked: Explain) -> Attributions | None:
    if typed.asked is None:
        return None
    wanted = _wanted(typed.asked, asked)
    with changed(side, other, parts) as changes, all_of(changes):
        surest = _surest(typed, wanted)
        if not len(surest) and wanted == Wanted():  # a tagger that finds no entity: what it says of any word
            surest = _surest(typed, Wanted(every_word=True))
        found = None
        if len(surest):
            most = min(MOST_NODES, max(NODES, _AT_MOST // int(typed.rows.lengths.sum())))
            found = attribute(side.encoder, typed.asked, typed.examples, surest, method=asked.method, most_nodes=most)
        if not found:  # nothing is said, or of a mask alone: no word did anything for it
            mask = f"type {MASK} where a word is to be guessed"
            what = mask if typed.asked.reads_typed_masks else "give another text"
            raise UserError(f"there is nothing to explain: {side.opened.name} says nothing of this text; {what}")
        return found


def _surest(typed: Typed, wanted: Wanted) -> Targets:
    """Of several things that are said, the surest: it alone is told, and to explain them all would hold the model."""
    assert typed.asked is not None
    with measuring([typed.encoder]), torch.inference_mode(), typed.asked.sparing():
        (batch,) = typed.asked.batches(typed.examples, tokens=2**20)
        raw = typed.asked.run(batch)
        found = typed.asked.targets(raw, batch, wanted)
        sure = typed.asked.probability(raw, batch, found) if len(found) > 1 else None
    return found if sure is None else found.take(sure.argmax(0, keepdim=True).cpu().numpy())


def _wanted(output: ModelOutput, asked: Explain) -> Wanted:
    if asked.word < 0:
        raise UserError(f"word is {asked.word}; words are counted from 1")
    if asked.word and not output.says_of_words:
        raise UserError(f"{output.encoder.name} says nothing of single words; leave out the word")
    return Wanted(output.place_of(asked.towards) if asked.towards else None, asked.word - 1 if asked.word else None)


def _told(typed: Typed, found: Attributions) -> Explanation:
    places = [typed.words[number] for number in found.word.tolist()]
    return Explanation(
        explained=found.explained[0],
        whole=float(found.whole[0]),
        baseline=float(found.baseline[0]),
        words=[
            Word(side, start, end, value)
            for (side, start, end), value in zip(places, found.values.tolist(), strict=True)
        ],
    )
