"""The drawing of the house in docs/design.md is what the import statements draw.

`python tests/whole/test_docs_house.py` draws it anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # run as a script, it has no pytest to do it

from house import FILES, ROOMS, SOURCE, graph, room_of

PAGE = Path(__file__).parents[2] / "docs" / "design.md"
PLACE = re.compile(r"(<!-- the house -->\n).*?(<!-- end -->)", re.DOTALL)


def arrows() -> dict[str, set[str]]:
    """From each room to those that its files import."""
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, imported in graph().items():
        room = module.split(".")[1] if "." in module else ""
        if room in ROOMS:
            found[room] |= {
                to for one in imported if (to := one.partition(".")[2].partition(".")[0]) in ROOMS and to != room
            }
    return found


def needed(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows without those that only shorten a longer way."""

    def beyond(room: str) -> set[str]:
        return {far for near in edges[room] for far in (near, *beyond(near))}

    return [
        (room, to) for room in edges for to in sorted(edges[room])
        if not any(to in beyond(near) for near in edges[room] - {to})
    ]  # fmt: skip


def folders(room: str) -> str:
    """A room's folders, and how many files lie beside them."""
    inside = sorted(path.parent.name for path in (SOURCE / room).glob("*/__init__.py"))
    beside = sum(room_of(path) == room and path.parent == SOURCE / room for path in FILES) - 1
    return f"{', '.join(f'`{name}`' for name in inside)}{' and ' * bool(inside)}{beside} files"


def drawn() -> str:
    lines = ["```mermaid", "flowchart RL", *(f"  {room} --> {to}" for room, to in needed(arrows())), "```", ""]
    lines += ["| room | folders |", "|---|---|", *(f"| `{room}` | {folders(room)} |" for room in ROOMS)]
    return "\n".join(lines) + "\n"


def test_the_house_is_drawn_from_the_imports():
    found = PLACE.search(PAGE.read_text(encoding="utf-8"))
    assert found and found[0] == f"{found[1]}{drawn()}{found[2]}", "run: python tests/whole/test_docs_house.py"


def test_only_the_needed_arrows_are_drawn():
    assert needed({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [("a", "b"), ("b", "c")]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda found: f"{found[1]}{drawn()}{found[2]}", text), encoding="utf-8")
