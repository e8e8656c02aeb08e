"""What a step is about, in words, before there is a result to say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertscope.core import lineage, registry
from bertscope.core.config import to_json
from bertscope.core.step import Root, Step
from bertscope.data.subsets import in_brief

_WATCHED = "sts"
"""What a training is only watched on, epoch by epoch."""


def about(step: Step) -> str:
    """Its models and its data, as commands name them.

    >>> task = Root("task", "demo/sentiment", "1")
    >>> tuned = Step("finetune", 1, {"seed": 3}, {"base": Root("model", "pocket", "2"), "task": task})
    >>> about(tuned), about(Step("ablate", 1, {}, {"model": tuned, "task": task}))
    ('pocket on demo/sentiment', 'pocket tuned on demo/sentiment (seed=3)')
    """
    models, data = " and ".join(_models(step)), ", ".join(_data(step))
    return models if _tuned_there(step) else " on ".join(filter(None, (models, data)))


def short(step: Step) -> str:
    """A step's name, as `ls` prints it."""
    return shortened(step.id)


def shortened(id: str) -> str:
    """
    >>> shortened("ablate-00c63123aa55bb66")
    'ablate-00c63123'
    """
    name, _, digest = id.rpartition("-")
    return f"{name}-{digest[:8]}"


def changed_settings(step: Step) -> str:
    """Its settings that aren't the default ones.

    >>> changed_settings(Step("ablate", 1, {"mode": "zero", "seed": 0, "units": ["head", "mlp"]}, {}))
    'mode=zero units=head,mlp'
    """
    defaults = to_json(registry.find(step.name).config())
    # A stored step may have a setting that its question has no more.
    return _written({name: value for name, value in step.config.items() if (name, value) not in defaults.items()})


def all_settings(step: Step) -> str:
    """All of them.

    >>> all_settings(Step("ablate", 1, {"mode": "zero", "seed": 0}, {}))
    'mode=zero seed=0'
    """
    return _written(step.config)


def _written(settings: Mapping[str, Any]) -> str:
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in settings.items()
    )


def _models(step: Step) -> list[str]:
    return list(dict.fromkeys(map(_model, _models_of(step))))


def _models_of(step: Step) -> Sequence[Step | Root]:
    """The models that it reads; of what reads results, those that they began with."""
    return lineage.roots(step, "model") if lineage.reads_results(step) else lineage.models_read(step)


def _tuned_there(step: Step) -> bool:
    """Whether all the models it reads that were trained in a step were trained on what it reads: what they are called
    says it then."""
    trained = [model for model in _models_of(step) if isinstance(model, Step)]
    return bool(trained) and all(_data_of(model) == _data_of(step) for model in trained)


def _data_of(step: Step) -> set[tuple[str, str, bool]]:
    """Which data it reads: where it is, and what was left out of it; how many rows of it, or as what, is another
    matter."""
    return {
        (
            root.source,
            str([root.options.get(name) for name in ("without", "flip", "fold")]),
            "at_random" in root.options,
        )
        for root in lineage.data_read(step, but=(_WATCHED,))
    }


def _model(model: Step | Root) -> str:
    if isinstance(model, Root):
        return _source(model)
    how = f" ({changed})" if (changed := changed_settings(model)) else ""
    return f"{' and '.join(_models(model))} tuned on {', '.join(_data(model))}{how}"


def _data(step: Step) -> list[str]:
    """The data that it reads, or, if it reads results alone, that they come from."""
    return list(dict.fromkeys(map(_source, lineage.data_read(step, but=(_WATCHED,)))))


def _source(root: Root) -> str:
    """A source as the user named it, a path by its last part, and what was left out of it.

    >>> _source(Root("task", "/data/reviews.csv", "1", {"without": ["soup", "film"]}))
    'reviews.csv without soup or film'
    >>> _source(Root("task", "/data/reviews.csv", "1", {"flip": 0.05, "fold": [2, 5]}))
    'reviews.csv with 5% of labels flipped, fold 2 of 5'
    """
    source = root.source.partition("@")[0]
    named = Path(source).name if Path(source).is_absolute() else source
    if words := root.options.get("without"):
        named += " cut at random" if "at_random" in root.options else f" without {in_brief(words)}"
    if share := root.options.get("flip"):
        named += f" with {100 * share:g}% of labels flipped"
    if fold := root.options.get("fold"):
        named += f", fold {fold[0]} of {fold[1]}"
    return named


def duration(seconds: float) -> str:
    """
    >>> duration(0.4), duration(75), duration(5400)
    ('under 1 s', '75 s', '1.5 h')
    """
    if seconds < 1:
        return "under 1 s"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size or (unit == "h" and seconds >= size):
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
