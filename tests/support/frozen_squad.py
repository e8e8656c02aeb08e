"""What SQuAD 2.0's script says of 600 nasty answers, kept: no package that `make` installs has it.

It is asked as transformers up to 4.57 shipped it (`transformers/data/metrics/squad_metrics.py`, `get_raw_scores`);
the two imports of that file, which scoring doesn't use, are stood in for. To write tests/fixtures/squad.json anew:

    .venv/bin/pip download --no-deps -d /tmp/oracles transformers==4.57.6
    .venv/bin/python tests/support/frozen_squad.py /tmp/oracles/transformers-4.57.6-py3-none-any.whl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from zipfile import ZipFile

from nasty_answers import nasty_answer

FIXTURE = Path(__file__).parents[1] / "fixtures" / "squad.json"
SEEDS = range(600)
_METRICS = "transformers/data/metrics/squad_metrics.py"


def script(wheel: Path) -> ModuleType:
    """The file as a module of a package in which nothing else is."""
    for name, holds in {
        "apart": {},
        "apart.data": {},
        "apart.data.metrics": {},
        "apart.models": {},
        "apart.models.bert": {"BasicTokenizer": None},
        "apart.utils": {"logging": SimpleNamespace(get_logger=lambda name: None)},
    }.items():
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(holds | {"__path__": []})
    found = ModuleType("apart.data.metrics.squad_metrics")
    found.__package__ = "apart.data.metrics"
    exec(compile(ZipFile(wheel).read(_METRICS), _METRICS, "exec"), vars(found))
    return found


def by_squad(squad: ModuleType, seed: int) -> tuple[int, float]:
    """Whether the answer is exactly right, and its F1."""
    text, right, (first, end) = nasty_answer(seed)
    asked = SimpleNamespace(qas_id=0, answers=[{"text": text[start:stop]} for start, stop in right])
    exact, f1 = squad.get_raw_scores([asked], {0: text[first:end]})
    return exact[0], round(f1[0], 6)


def frozen() -> list[tuple[int, float]]:
    """[exact match, F1] of each seed."""
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    squad = script(Path(sys.argv[1]))
    rows = (json.dumps(by_squad(squad, seed)) for seed in SEEDS)
    FIXTURE.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
