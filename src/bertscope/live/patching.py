"""Two texts that differ in a word: which part carries the difference between what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

from bertscope.analyses.patch.rows import answers_in_words
from bertscope.core.errors import UserError
from bertscope.core.units import every, heads_and_mlps
from bertscope.live.messages import Patched, PatchedPart
from bertscope.live.typed import Typed
from bertscope.models.contrasts import contrasts
from bertscope.models.paired_rows import SIDES
from bertscope.models.patching import ALL, Patch, patched

_CHANGED = "changed"


def patched_parts(clean: Typed, corrupted: Typed) -> Patched:
    """The share of the difference that each part restores: the second text with this part's output from the first."""
    asked, encoder = clean.asked, clean.encoder
    if asked is None or corrupted.asked is None:
        raise UserError(f"{encoder.name} says nothing of these texts that could be compared; give a model that does")
    if asked.kind != corrupted.asked.kind:
        raise UserError("only one of the texts has a mask; type it in both")
    _refuse_unequal(clean, corrupted)
    found = contrasts(asked, clean.examples, corrupted.examples)
    if not len(found):
        raise UserError(_why_not(found.paired.dropped))
    counts = encoder.head_counts
    # A layer's output at all tokens carries all of it by construction; the last one's at the changed tokens, where
    # what is on top reads single tokens, all or nothing.
    layers = every("layer", counts)[: -1 if asked.reads_single_tokens else None]
    patches = [
        *(Patch(unit, _CHANGED) for unit in layers),
        *(Patch(unit) for unit in heads_and_mlps(counts, encoder.neuron_counts)),
    ]
    low, between = found.of["corrupted"][0], found.between[0]
    shares = (patched(found, patches)[:, 0] - low) / between
    return Patched(
        clean=float(found.of["clean"][0]),
        corrupted=float(low),
        answers=[answers_in_words(asked, found.answers[side])[0] for side in SIDES],
        tokens=[clean.shown, corrupted.shown],
        parts=[
            PatchedPart(str(patch.unit) if patch.at == ALL else f"{patch.unit}@{patch.at}", float(share))
            for patch, share in zip(patches, shares, strict=True)
        ],
    )


def _refuse_unequal(clean: Typed, corrupted: Typed) -> None:
    one, other = (each.rows.lengths.tolist() for each in (clean, corrupted))
    if one != other:
        raise UserError(
            f"the texts have {sum(one)} and {sum(other)} tokens: parts can only be exchanged between as many; change "
            "a word for one of as many pieces"
        )


def _why_not(dropped: Mapping[str, int]) -> str:
    if dropped.get("same"):
        return "both texts are answered alike: there is no difference to carry; change a word that matters"
    if dropped.get("no_mask"):
        return "no word is masked in these texts; type [MASK] where one is to be guessed"
    return "the tokens of the two texts don't stand at the same places; change a word for one of as many pieces"
