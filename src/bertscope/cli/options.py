"""Options that several commands share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertscope.data.options import Reading

STORE = Path("bertscope-store")


@dataclass(frozen=True)
class DataOptions(Reading):
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
