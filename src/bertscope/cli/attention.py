"""`bertscope attention`: the attention maps of one text or pair, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def attention(
    model: str,
    other: str | None = None,
    /,
    *,
    text: str,
    text_pair: str | None = None,
    out: Path = Path("attention.html"),
    maps: Path | None = None,
    weighted: Annotated[bool, Parameter(negative=())] = False,
    base: str | None = None,
) -> None:
    """Where does each head look in this text? Draws every head's map, on one page that needs no network.

    Parameters
    ----------
    model
        The model, or the first of two checkpoints.
    other
        A second checkpoint, shown beside the first.
    text
        The text to read.
    text_pair
        The second text of a pair.
    out
        The page to write; one that bertscope wrote is replaced.
    maps
        Also write the exact maps to this folder, as safetensors and JSON; bertscope.AttentionMaps.load(FOLDER) reads
        them.
    weighted
        Multiply attention by the length of the vector it moves (Kobayashi et al. 2020).
    base
        What a model was fine-tuned from, if its own files don't say: a folder, or a hub id.
    """
    from bertscope.analyses.attention.of_text import attention as attention_of
    from bertscope.core.attention_maps import KIND
    from bertscope.core.console import Console
    from bertscope.core.files import check_file
    from bertscope.core.folders import check_folder
    from bertscope.report.attention import MARK

    check_file(out, MARK)
    if maps is not None:
        check_folder(maps, KIND)
    shown = attention_of(model, text, text_pair, other, weighted=weighted, base=base)
    console = Console()
    for name, layers in zip(shown.names.values(), shown.of_models.values(), strict=True):
        heads = sum(map(len, layers))
        console.print(f"{name}: {heads} heads in {len(layers)} layers, {len(shown.tokens)} tokens", soft_wrap=True)
    for note in shown.notes:
        console.print(f"note: {note}", soft_wrap=True)
    if maps is not None:
        console.print(f"maps written to {shown.save(maps)}", soft_wrap=True)
    page = shown.page(out)
    console.print(f"page written to {page} ({page.stat().st_size / 1e6:.2f} MB)", soft_wrap=True)
