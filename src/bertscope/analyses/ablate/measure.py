"""`ablate`: the model's outputs on the test set, whole and without each part."""

from __future__ import annotations

from bertscope.analyses.ablate.question import AblateConfig, named_sets
from bertscope.analyses.ablate.result import Off, ablate_result
from bertscope.core.result import Result
from bertscope.core.units import every
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.replay import predict_without


def measure(model: Encoder, task: Task, config: AblateConfig) -> Result:
    model.need_classifier(task.output)
    off = [Off.part(unit) for kind in dict.fromkeys(config.units) for unit in every(kind, model.head_counts)]
    for name, units in named_sets(config.sets).items():
        off.append(Off("set", name, [unit.check(model.head_counts, model.neuron_counts) for unit in units]))
    reference = model.means(task.validation) if config.mode == "mean" else None
    switched = predict_without(
        model, task.test, [[], *(one.units for one in off)], mode=config.mode, reference=reference
    )
    return ablate_result(model, task, off, switched, config)
