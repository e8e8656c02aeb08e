"""Made-up results about layers in which an effect is known, and the models that they are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_results import SURE, TASK, Planted, ends

POCKET = ModelRecord("pocket-id", "pocket")
_INFERENCE = ("entailment", "neutral", "contradiction")


def tuned_on(name: str, kind: str = "classification", labels: tuple[str, ...] = (), base: ModelRecord = POCKET):
    """The model that a fine-tuning on such data gives."""
    data = DataRecord(f"{name}-data", name, kind, labels)
    return ModelRecord(f"{name}-id", f"{base.name} tuned on {name}", Origin("finetune", base, data, seed=0))


def random_like(base: ModelRecord) -> ModelRecord:
    return ModelRecord(f"{base.id}-random", f"{base.name} (random init)", Origin("random", base, init="random"))


TUNED, PARSER, RANDOM = tuned_on(TASK), tuned_on("trees", "trees"), random_like(POCKET)
READER, JUDGE = tuned_on("answers", "spans"), tuned_on("pairs", labels=_INFERENCE)


def result(question: str, tables: dict, models: Sequence[ModelRecord], headline: Sequence[Number] = ()) -> Result:
    return Result(
        question, 1, tables, headline=list(headline), models={one.id: one for one in models}, subject={"task": TASK}
    )


def depths(value: float) -> list[float]:
    """Seven layers, of which the top third has an RSA of 0.5 and the others `value` more."""
    return [1.0, *[0.5 + value] * 4, 0.5, 0.5]


def similarity(
    after: ModelRecord, by_layer: list[float], reach: float, corpus: str = TASK, before: ModelRecord = POCKET
) -> Result:
    rows = [
        {"checkpoint": before.id, "other": after.id, "layer": layer, "other_layer": layer, "measure": "rsa", "n": 900,
         "corpus": corpus, **ends(value, reach / 2)}
        for layer, value in enumerate(by_layer)
    ]  # fmt: skip
    number = Number("rsa_last_layer", by_layer[-1], n=900, of={"model": after.id, "against": before.id})
    return result("similarity", {"layers": pd.DataFrame(rows)}, (before, after), [number])


def elsewhere(value: float, reach: float, own: str = "here") -> list[Result]:
    """How much the task's texts have more than others: those of the first corpus, unless `own` is `there`."""
    found, value = similarity(TUNED, [1.0, 0.9, 0.8], SURE), -value if own == "there" else value
    rows = [{"measure": "rsa", "layer": layer, "other": TUNED.id, "own": own, **ends(by, reach, "difference")}
            for layer, by in ((1, 0.7), (2, value))]  # fmt: skip
    found.tables["corpora"] = pd.DataFrame(rows)
    return [found]


def structure(
    models: tuple[ModelRecord, ModelRecord], values: tuple[float, float], reach: float, chain: float = 0.2
) -> list[Result]:
    """800 edges of 60 sentences; the difference is known as well as it is without pairs."""
    rows = [
        {"checkpoint": model.id, "metric": metric, "arm": "probe", "best_layer": best, "best_rank": True, "n": n,
         **ends(value if best else 0.1, reach / 2)}
        for model, value in zip(models, values, strict=True) for best in (False, True)
        for metric, n in (("uuas", 800), ("root_accuracy", 60))
    ]  # fmt: skip
    neighbours = {"metric": "uuas", "arm": "linear_chain", "best_layer": False, "best_rank": False, "n": 800}
    changes = [
        {"checkpoint": models[1].id, "against": models[0].id, "metric": metric, **ends(value, reach)}
        for metric, value in (("nspr", -0.9), ("uuas", values[1] - values[0]))
    ]
    tables = {"scores": pd.DataFrame([*rows, neighbours | ends(chain, SURE)]), "changes": pd.DataFrame(changes)}
    return [result("structure", tables, models)]


def probe(after: ModelRecord = TUNED, **tables: pd.DataFrame) -> list[Result]:
    """Probes of the base are right in 0.7 of the cases, the majority in 0.3."""
    both = [
        {"checkpoint": one.id, "target": target, "layer": layer, "n": 2000, **ends(0.7, SURE, "accuracy")}
        for one in (POCKET, after) for target in ("pos", "relation", "word") for layer in range(13)
    ]  # fmt: skip
    texts = pd.DataFrame({"target": ["pos", "relation", "word", "length"], "texts": [300, 250, 280, 900]})
    texts["majority"] = [0.3, 0.3, 0.01, 0.2]
    return [result("probe", {"probes": pd.DataFrame(both), "targets": texts, **tables}, (POCKET, after))]


def probed(value: float, reach: float, after: ModelRecord = TUNED) -> list[Result]:
    """The parts of speech change so, which word it is and how long the text is otherwise."""
    rows = [
        {"checkpoint": after.id, "target": target, "layer": layer, **ends(change, reach, "change")}
        for layer in (1, 2)
        for target, change in (("pos", value), ("relation", value), ("word", 0.9), ("length", -0.9))
    ]
    return probe(after, changes=pd.DataFrame(rows))


def expected(*targets: str) -> Planted:
    """In which of twelve layers, as a share of them, these are found; something else is found elsewhere."""

    def results(value: float, reach: float) -> list[Result]:
        rows = [{"target": target, **ends(12 * value, 12 * reach, "expected")} for target in targets]
        rows.append({"target": "sense", **ends(99.0, 0, "expected")})
        return probe(expected=pd.DataFrame(rows).assign(checkpoint=POCKET.id))

    return results


def grafted(first: int, layers: int = 6, tuned: ModelRecord = TUNED) -> Planted:
    """How much of the gain tuned weights from that layer on give; any fewer layers give nothing, any more all of it.
    By the loss it is another share."""

    def results(value: float, reach: float) -> list[Result]:
        found = [0.0 if layer > first else value if layer == first else 1.0 for layer in range(1, layers + 1)]
        rows = [
            {"kind": "top_down", "layer": layer, "direction": "enough", "share": 0.9,
             **ends(share, reach, "score_share", "score_share_low", "score_share_high")}
            for layer, share in enumerate(found, start=1)
        ]  # fmt: skip
        scores = [Number("score", 0.9, 0.9, 0.9, 400), Number("chance", 0.5)]
        made = result("graft", {"grafts": pd.DataFrame(rows)}, (POCKET, tuned), scores)
        # Each half of the texts is as far to one side: over texts alone an error of reach / 1.96.
        apart = reach / 1.959964 * 399**0.5 * np.repeat([-1, 1], 200)
        made.arrays["top_down"] = np.array(found)[:, None] + apart
        return [made]

    return results


def geometry(
    measure: str, by_layer: Callable[[float], list[float]], share: float = 0.5, model: ModelRecord = POCKET
) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {"checkpoint": model.id, "layer": layer, "form": form, "measure": measure, "n": 900,
             **ends(at, share * reach)}
            for form, shift in (("as_it_is", 0.0), ("standardised", 5.0))
            for layer, at in enumerate(shift + np.array(by_layer(value)))
        ]  # fmt: skip
        return [result("geometry", {"layers": pd.DataFrame(rows)}, (model,))]

    return results
