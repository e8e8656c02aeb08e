"""Options that several commands share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertscope.data.options import ReadOptions

STORE = Path("bertscope-store")


def default_in_words(value: Any) -> str | None:
    """A default as help prints it; None where it is nothing, or off.

    >>> [default_in_words(value) for value in (("head", "mlp"), 0.1, 0, True, False, (), "", None)]
    ['head mlp', '0.1', '0', 'on', None, None, None, None]
    """
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    return None if value in (None, "") or value is False else "on" if value is True else str(value)


@dataclass(frozen=True)
class DataOptions(ReadOptions):
    """How the data is read."""

    data_seed: int = 0
    """Decides how one file is split, which rows a limit keeps, and what a demo language says."""

    def given(self) -> dict[str, Any]:
        """The options as `task_root` takes them."""
        said = asdict(self)
        return said | {"seed": said.pop("data_seed")}


@dataclass(frozen=True)
class RunOptions:
    """Where results go."""

    store: Path = STORE
    """The folder where results are kept and found again."""
    out: Path | None = None
    """Also write the result here (finetune, shrink: the model)."""
    resume: bool = True
    """Go on from the last epoch of a training that was killed; --no-resume starts it over."""
    json: bool = False
    """Print the headline numbers as JSON."""
