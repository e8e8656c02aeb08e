"""What follows from `erase`: whether the model uses what its layers know."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    found = []
    for used in result.numbers(key="layers_used"):
        target, count = used.of.get("target", "it").replace("_", " "), int(used.value)
        if count:
            text = (
                f"It uses the {target}: in {count} {'layer' if count == 1 else 'layers'}, taking it out costs more "
                "than taking out something random."
            )
            found.append(Consequence("knows", text, 0.6, "curves"))
        else:
            text = (
                f"Whether it uses the {target} is open: taking it out isn't shown to cost more than taking out "
                "something random."
            )
            found.append(Consequence("knows", text, 0.3, "curves", is_open=True))
    return found
