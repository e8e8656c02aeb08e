"""Steps as if they had run: stored and sealed without anything being computed."""

from __future__ import annotations

import json
from pathlib import Path

from bertscope.core import seal
from bertscope.core.result import Result
from bertscope.core.step import FORMAT, Step


def put_step(store: Path, step: Step, result: Result) -> Path:
    """The folder in which a step with this result is stored."""
    folder = store / "steps" / step.id
    result.save(folder / "result")
    return seal_step(folder, step)


def seal_step(folder: Path, step: Step, format: int = FORMAT) -> Path:
    """Say of a folder that holds a result, in this version's form or another's, which step it is of."""
    folder.mkdir(parents=True, exist_ok=True)
    record = json.dumps({"format": format} | step.to_json(), ensure_ascii=False)
    (folder / "step.json").write_text(record, encoding="utf-8")
    seal.write(folder, step.id)
    return folder
