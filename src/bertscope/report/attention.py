"""The view of one text's attention: as a page of its own, and as a frame in a notebook."""

from __future__ import annotations

from html import escape
from pathlib import Path

import bertscope
from bertscope.core.attention_maps import AttentionMaps
from bertscope.core.files import check_file, write_text
from bertscope.report import theme
from bertscope.report.attention_levels import Packed, packed
from bertscope.report.packed import script_json
from bertscope.report.scripting import allowed, joined
from bertscope.report.templates import HERE, rendered

SCRIPTS = (
    "base",
    *(f"attention/{name}" for name in ("maps", "colours", "grid", "matrix", "lines", "head", "view", "page")),
)
"""The view's scripts, each after those that it imports."""
MARK = 'name="generator" content="bertscope'
"""By this a page is known as ours, and may be replaced."""
_HEIGHT = 860


def write_page(maps: AttentionMaps, out: str | Path) -> Path:
    """Write the view as one HTML file that asks nothing of the network."""
    out = Path(out)
    check_file(out, MARK)
    write_text(out, page(maps))
    return out


def frame(maps: AttentionMaps) -> str:
    """The same for a notebook. In a frame of its own it neither sees nor disturbs what else is there."""
    inside = escape(page(maps), quote=True)
    return (
        f'<iframe srcdoc="{inside}" title="Attention maps" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
    )


def page(maps: AttentionMaps) -> str:
    """The page, whole."""
    from markupsafe import Markup

    found, script = packed(maps), joined(SCRIPTS)
    shapes = [[len(layer) for layer in layers] for layers in maps.of_models.values()]
    names = list(maps.names.values())
    about = {
        "tokens": found.tokens, "inText": found.in_text, "pair": maps.pair is not None, "step": found.step,
        "wide": found.wide, "models": [{"name": name, "shape": one} for name, one in zip(names, shapes, strict=True)],
        "palettes": theme.palettes(),
    }  # fmt: skip
    whole = rendered(
        "attention.html.j2",
        title=f"Attention of {' and '.join(names)}",
        version=bertscope.__version__,
        maps=maps,
        notes=_notes(maps, found),
        allowed=Markup(allowed(script)),
        css=Markup((HERE / "attention.css").read_text(encoding="utf-8")),
        script=Markup(script),
        about=Markup(script_json(about)),
        levels=[Markup(one) for one in found.levels],
    )
    return str(whole)  # no longer Markup, which would escape what it is told to replace


def _notes(maps: AttentionMaps, found: Packed) -> list[str]:
    notes = list(maps.notes)
    if maps.weighted:
        notes.append(
            "Norm-weighted: attention times the length of the vector that it moves, each row summing to 1 again."
        )
    if found.block > 1:
        notes.append(
            f"{len(maps.tokens)} tokens, of which up to {found.block} neighbours are taken together here: from them "
            "the mean, to them the sum. The arrays have every token."
        )
    notes.append(f"Weights are rounded to {found.step:g} here; the arrays that bertscope.attention gives are exact.")
    return notes
