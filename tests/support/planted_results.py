"""Made-up results in which the effect that a claim reads is known: for each claim a function of that effect and of
how far its interval reaches, with the tables that the real question stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from bertscope.core.result import Number, Result
from bertscope.core.step import Root, Step

BASE, TUNED, RANDOM, TASK = "pocket", "pocket tuned on toy", "pocket (random init)", "toy"
SURE = 1e-6
"""An interval that is all but a point."""
Planted = Callable[[float, float], list[Result]]


def result(question: str, tables: dict, headline: list[Number] = [], model: str = BASE, **subject: str) -> Result:  # noqa: B006
    return Result(question, 1, tables, headline=headline, subject={"model": model, "task": TASK} | subject)


def ends(value: float, reach: float, name: str = "value", low: str = "low", high: str = "high") -> dict:
    return {name: value, low: value - reach, high: value + reach}


def patterns(before: tuple[float, float], after: tuple[float, float], kind: str) -> list[Result]:
    rows = [
        {"checkpoint": name, "class": kind, **ends(*share, "share")}
        for name, share in ((BASE, before), (TUNED, after))
    ]
    return [result("patterns", {"models": pd.DataFrame(rows)}, [Number(kind, after[0], n=400)])]


def features(rows: list[dict], **more: pd.DataFrame) -> list[Result]:
    table = pd.DataFrame(rows).assign(by="all tokens", n=400, checkpoint=BASE)
    return [result("features", {"layers": table, "special": table, **more}, [Number("any", 0.0, n=400)])]


def attention(lower: dict[str, float], upper: dict[str, float], reach: float) -> list[Result]:
    """Six layers: the first two draw as `lower` says, the others as `upper`."""
    return features([
        {"layer": layer, "feature": feature, **ends(value, reach / 2, "attention")}
        for layer in range(1, 7)
        for feature, value in (lower if layer < 3 else upper).items()
    ])  # fmt: skip


def first_tokens(value: float, reach: float, seps: int = 1) -> list[Result]:
    """Six layers of two heads in which [CLS] draws so much more than one [SEP], of which a text has `seps`; in the
    upper layers the other way round."""
    (made,) = attention({"[CLS]": 0.3, "[SEP]": 0.9}, {"[CLS]": 0.1, "[SEP]": 0.1}, SURE)
    rows = [
        {"layer": layer, "head": head, "token": token, "each": one,
         **ends(count * one, count * reach / 2, "attention")}
        for layer in range(1, 7)
        for head in (1, 2)
        for token, count, one in (
            ("[CLS]", 1, 0.3 + (value if layer < 3 else -0.3)), ("[SEP]", seps, 0.3),
            ("[CLS] and [SEP]", 1, np.nan),
        )
    ]  # fmt: skip
    made.tables["special"] = pd.DataFrame(rows).assign(checkpoint=BASE)
    return [made]


def on_special(value: float, reach: float) -> list[Result]:
    (made,) = attention({}, {"[CLS]": 0.1}, SURE)
    name = "heads mostly on [CLS] and [SEP]"
    made.headline = [Number(name, value, value - reach, value + reach, 400)]
    return [made]


def gains(value: float, reach: float) -> list[Result]:
    rows = [
        {"checkpoint": TUNED, "layer": layer, "by": "all tokens", "feature": feature, **ends(change, reach, "change")}
        for layer in (1, 2)
        for feature, change in (("noun", value), ("verb", -0.5), ("[SEP]", 0.9))
    ]
    layers = [{"layer": 1, "feature": "noun", **ends(0.1, SURE, "attention")}]
    return features(layers, change_of_layers=pd.DataFrame(rows))


def change(**columns: list) -> list[Result]:
    layers = pd.DataFrame({"layer": range(1, len(next(iter(columns.values()))) + 1)} | columns)
    return [result("change", {"layers": layers}, [Number("cosine", 0.8, n=400)], f"{BASE} and {TUNED}")]


def ranks(value: float, reach: float) -> list[Result]:
    rank = np.array([9.0, 8.0, value, 1.0])
    return change(rank=rank, rank_low=rank - reach, rank_high=rank + reach)


def last_share(value: float, reach: float) -> list[Result]:
    (made,) = change(rank=[1, 2])
    named = (("share of the change in the last two layers", reach), ("the same if all heads changed alike", 0))
    made.headline += [
        Number(named[0][0], value, value - reach, value + reach, 400), Number(named[1][0], 0.2),
    ]  # fmt: skip
    return [made]


def unchanged(value: float, reach: float) -> list[Result]:
    """Of 100 heads, a share above a cosine of 0.9, and so many more or fewer by the ends of their intervals."""
    (made,) = change(rank=[1, 2])
    place = (np.arange(100) + 0.5) / 100
    made.tables["heads"] = pd.DataFrame(
        {name: np.where(place < share, 0.95, 0.5) for name, share in
         (("cosine", value), ("cosine_low", value - reach), ("cosine_high", value + reach))}
    )  # fmt: skip
    return [made]


def frames(value: float, reach: float) -> list[Result]:
    """Ten layers of ten heads; sure: the same share in each layer, unsure: in some layers all, in others none."""
    head, layer = np.meshgrid(np.arange(10), np.arange(10))
    certain = head < 10 * value if reach <= SURE else layer < 10 * value
    table = pd.DataFrame({"layer": layer.ravel() + 1, "head": head.ravel() + 1, "certain": certain.ravel()})
    return [
        result("relations", {"frames": table.assign(checkpoint=BASE, n=90), "best": relations().assign(p=np.nan)})
    ]


def relations(value: float = 0.1, reach: float = SURE) -> pd.DataFrame:
    effect = ends(value, reach, "difference", "difference_low", "difference_high")
    return pd.DataFrame([{"checkpoint": BASE, "relation": "obj", "p": 0.01, "test_pairs": 50, **effect}])


def ablate(kind: str, best: bool) -> Planted:
    """A part with the effect, and one whose effect is certainly less (or more)."""

    def made(value: float, reach: float) -> list[Result]:
        other = -0.9 if best else 0.9
        rows = [
            {"kind": kind, "certain": wide < abs(effect), **ends(effect, wide, "effect")}
            for effect, wide in ((value, reach), (other, SURE))
        ]
        scores = [Number("score", 0.9, 0.88, 0.92, 400), Number("chance", 0.5)]
        return [result("ablate", {"effects": pd.DataFrame(rows)}, scores, mode="uniform")]

    return made


def redundancy(name: str) -> Planted:
    return lambda value, reach: [
        result("redundancy", {}, [Number(name, value, value - reach, value + reach, 400)])
    ]  # fmt: skip


def scratch(effect: str, runs: int = 5) -> Planted:
    def made(value: float, reach: float) -> list[Result]:
        rows = [{"effect": name, "runs": runs, "n": 400, **ends(by, reach, "difference")}
                for name, by in ((effect, value), ("other", 0.77))]  # fmt: skip
        return [result("scratch", {"effects": pd.DataFrame(rows)})]

    return made


def lottery(runs: int = 5, **tables: pd.DataFrame) -> Result:
    scores = [Number("full", 0.9, n=400), Number("majority", 0.5)]
    return result("lottery", {name: table.assign(runs=runs) for name, table in tables.items()}, scores)


def arm(method: str, name: str, stage: str, value: float, reach: float) -> dict:
    apart = ends(value, reach, "minus_full", "minus_full_low", "minus_full_high")
    return {"method": method, "arm": name, "stage": stage, **ends(value, reach, "score"), **apart}


def good(method: str, runs: int = 5) -> Planted:
    return lambda value, reach: [
        lottery(runs, arms=pd.DataFrame([arm(method, "good", "retrained", value, reach)]))
    ]  # fmt: skip


def compared(method: str, one: str, other: str, runs: int = 5) -> Planted:
    def made(value: float, reach: float) -> list[Result]:
        row = {
            "method": method,
            "arm": one,
            "against": other,
            "stage": "retrained",
            **ends(value, reach, "difference"),
        }
        return [lottery(runs, comparisons=pd.DataFrame([row]))]

    return made


def gained(value: float, reach: float) -> list[Result]:
    rows = [arm("m", "bad", "pruned", 0.5, reach / 2), arm("m", "bad", "retrained", 0.5 + value, reach / 2)]
    return [lottery(arms=pd.DataFrame(rows))]


def survivors(votes: np.ndarray, layers: np.ndarray) -> list[Result]:
    """Which heads survive with which seed, [seed, head]."""
    parts = pd.DataFrame({"kind": "head", "layer": layers})
    made = result("lottery", {"survivors": parts}, [Number("full", 0.9, n=400)])
    made.arrays["survivors"] = votes.astype(np.uint8)
    return [made]


def heads_left(value: float, reach: float) -> list[Result]:
    """Five seeds that keep the same share of a thousand heads, or shares all over the place."""
    shares = value + reach * np.linspace(-0.4, 0.4, 5) if reach > SURE else np.full(5, value)
    return survivors((np.arange(1000) + 0.5) / 1000 < shares[:, None], np.repeat(np.arange(10), 100))


def agreeing(value: float, reach: float) -> list[Result]:
    """Kappa 1 or 0 sure, or layers in which seeds agree beside layers in which they don't."""
    generator = np.random.default_rng(0)
    layers = np.repeat(np.arange(10), 60)
    alike = np.tile(generator.random(600) < 0.5, (5, 1))
    apart = generator.random((5, 600)) < 0.5
    share = {0.0: 0, 1.0: 10}.get(value, 4)
    return survivors(np.where(layers < share, alike, apart), layers)


def in_every_seed(value: float, reach: float) -> list[Result]:
    return agreeing(value, reach)


def weights_left(value: float, reach: float, runs: int = 5) -> list[Result]:
    from scipy.stats import t

    spread = reach / (t.ppf(0.975, 4) / 5**0.5)
    row = {"method": "m", "parts": "weights", "of": 1000, "survive": 1000 * value, "survive_sd": 1000 * spread}
    return [lottery(runs, agreement=pd.DataFrame([row]), arms=pd.DataFrame([arm("m", "good", "retrained", 0.9, 0)]))]


def shapes(value: float, reach: float) -> list[Result]:
    rows = [("heterogeneous", value), ("block", 1 - value)]
    table = pd.DataFrame({"class": kind, "share": share, "heads": 50} for kind, share in rows)
    return [lottery(classes=table.assign(attention="raw", of="survivors"))]


def taught(made: Result, *tasks: tuple[str, dict] | None) -> Result:
    """With the step it came of: models that were fine-tuned on these tasks, or on none."""
    base = Root("model", "pocket", "0" * 16)
    models = [
        Step("finetune", 1, {"seed": 0}, {"base": base, "task": Root("task", task[0], "1" * 16, task[1])})
        if task else base
        for task in tasks
    ]  # fmt: skip
    states = {f"states.{place}": Step("states", 1, {}, {"model": model}) for place, model in enumerate(models)}
    made.provenance["step"] = Step(made.question, 1, {}, states).to_json()
    return made


def similarity(other: str, by_layer: list[float], reach: float, corpus: str = TASK) -> Result:
    rows = [
        {"checkpoint": BASE, "other": other, "layer": layer, "other_layer": layer, "measure": "RSA", "n": 900,
         "corpus": corpus, **ends(value, reach / 2)}
        for layer, value in enumerate(by_layer)
    ]  # fmt: skip
    return result("similarity", {"layers": pd.DataFrame(rows)}, [Number("RSA, last layer", by_layer[-1], n=900)])


def elsewhere(value: float, reach: float) -> list[Result]:
    made = similarity(TUNED, [1.0, 0.9, 0.8], SURE)
    rows = [{"measure": "RSA", "layer": layer, "other": TUNED, **ends(by, reach, "difference")}
            for layer, by in ((1, 0.7), (2, value))]  # fmt: skip
    made.tables["corpora"] = pd.DataFrame(rows)
    return [made]


def structure(names: tuple[str, str], values: tuple[float, float], reach: float, chain: float = 0.2) -> list[Result]:
    """800 edges of 60 sentences."""
    rows = [
        {"checkpoint": name, "metric": metric, "arm": "probe", "best_layer": best, "best_rank": True, "n": n,
         **ends(value if best else 0.1, reach / 2)}
        for name, value in zip(names, values, strict=True) for best in (False, True)
        for metric, n in (("UUAS", 800), ("root accuracy", 60))
    ]  # fmt: skip
    neighbours = {"metric": "UUAS", "arm": "linear chain", "best_layer": False, "best_rank": False, "n": 800}
    return [result("structure", {"scores": pd.DataFrame([*rows, neighbours | ends(chain, SURE)])})]


def probe(**tables: pd.DataFrame) -> list[Result]:
    both = [{"checkpoint": name, "layer": layer, "n": 2000} for name in (BASE, TUNED) for layer in range(13)]
    texts = pd.DataFrame({"target": ["pos", "relation", "word", "length"], "texts": [300, 250, 280, 900]})
    return [result("probe", {"probes": pd.DataFrame(both), "targets": texts, **tables})]


def probed(value: float, reach: float) -> list[Result]:
    """The parts of speech change so, which word it is and how long the text is otherwise."""
    rows = [
        {"checkpoint": TUNED, "target": target, "layer": layer, **ends(change, reach, "change")}
        for layer in (1, 2)
        for target, change in (("pos", value), ("relation", value), ("word", 0.9), ("length", -0.9))
    ]
    return probe(changes=pd.DataFrame(rows))


def expected(value: float, reach: float) -> list[Result]:
    rows = [{"checkpoint": BASE, "target": target, **ends(12 * value, 12 * reach, "expected")}
            for target in ("pos", "relation")]  # fmt: skip
    return probe(expected=pd.DataFrame([*rows, {"checkpoint": BASE, "target": "sense", **ends(99.0, 0, "expected")}]))


def geometry(measure: str, by_layer: Callable[[float], list[float]], share: float = 0.5) -> Planted:
    def made(value: float, reach: float) -> list[Result]:
        rows = [
            {
                "checkpoint": BASE,
                "layer": layer,
                "form": form,
                "measure": measure,
                "n": 900,
                **ends(at, share * reach),
            }
            for form, shift in (("as it is", 0.0), ("standardised", 5.0))
            for layer, at in enumerate(shift + np.array(by_layer(value)))
        ]
        return [result("geometry", {"layers": pd.DataFrame(rows)})]

    return made


def bias(effect: str, on: str, runs: int = 5) -> Planted:
    def made(value: float, reach: float) -> list[Result]:
        rows = [
            {"effect": name, "on": part, "runs": runs, "n": 500,
             **ends(value if (name, part) == (effect, on) else 0.77, reach, "difference")}
            for name in ("the cut", "its size", "its words") for part in ("slice", "rest", "all")
        ]  # fmt: skip
        return [result("bias", {"effects": pd.DataFrame(rows)})]

    return made


def truncate(value: float, reach: float, runs: int = 5) -> list[Result]:
    rows = [
        {"removed": removed, "from_top": from_top, "top": top, "runs": runs, "n": 500,
         **ends(by, reach, "effect", "effect_low", "effect_high")}
        for removed, from_top, top, by in
        ((0, True, "linear", 0.0), (1, True, "linear", value), (1, True, "relu", 0.7), (1, False, "linear", 0.7))
    ]  # fmt: skip
    latency = {"removed": 1, "from_top": True, "texts": 32, "rounds": 20, **ends(value, reach, "faster")}
    return [result("truncate", {"arms": pd.DataFrame(rows), "latency": pd.DataFrame([latency])})]


def freeze(value: float, reach: float, runs: int = 5) -> list[Result]:
    rows = [
        {"frozen": frozen, "runs": runs, "n": 500, **ends(by, reach, "effect", "effect_low", "effect_high")}
        for frozen, by in (("", 0.0), ("embeddings,1-4", 0.7), ("embeddings,1-8", value), ("encoder", 0.7))
    ]
    return [result("freeze", {"arms": pd.DataFrame(rows), "movement": pd.DataFrame({"layer": range(13)})})]


def contrast(difference: str, runs: int = 5) -> Planted:
    def made(value: float, reach: float) -> list[Result]:
        rows = [{"arm": name, "runs": runs, **ends(value if name == difference else 0.7, reach, "slope")}
                for name in ("before", "contrastive - before", "contrastive - shuffled")]  # fmt: skip
        return [result("contrast", {"slopes": pd.DataFrame(rows)}, pairs="unsupervised")]

    return made


def depths(value: float) -> list[float]:
    """Seven layers, of which the top third has an RSA of 0.5 and the others `value` more."""
    return [1.0, *[0.5 + value] * 4, 0.5, 0.5]


PLANTED: dict[str, Planted] = {
    "less-than-half-heterogeneous": lambda v, r: patterns((v, r), (v, r), "heterogeneous"),
    "vertical-grows": lambda v, r: patterns((0.3, r / 2), (0.3 + v, r / 2), "vertical"),
    "a-third-on-special": on_special,
    "last-two-layers-most": ranks,
    "last-two-layers-more": last_share,
    "most-heads-unchanged": unchanged,
    "sep-above-features": lambda v, r: attention(
        {"[SEP]": 0.9, "noun": 0.1}, {"[SEP]": 0.3 + v, "noun": 0.3, "verb": 0.1}, r
    ),
    "cls-in-first-layers": first_tokens,
    "no-feature-gains": gains,
    "few-frame-heads": frames,
    "relation-heads-exist": lambda v, r: [result("relations", {"best": relations(v, r)})],
    "a-head-off-improves": ablate("head", best=True),
    "no-head-is-needed": ablate("head", best=False),
    "a-layer-off-improves": ablate("heads", best=True),
    "no-layer-is-needed": ablate("heads", best=False),
    "similar-heads-are-redundant": redundancy("interaction, similar minus random"),
    "relation-heads-not-needed": redundancy("named heads off together"),
    "pretraining-gives": scratch("pretraining"),
    "tuning-gives": scratch("fine-tuning"),
    "m-good-reaches-full": good("m"),
    "s-good-comes-close": good("s"),
    "s-random-as-good": compared("s", "good", "random"),
    "s-bad-as-good": compared("s", "good", "bad"),
    "m-random-worse": compared("m", "good", "random"),
    "m-bad-worse": compared("m", "good", "bad"),
    "m-bad-below-random": compared("m", "random", "bad"),
    "bad-gains-by-training": gained,
    "heads-can-go": heads_left,
    "weights-can-go": weights_left,
    "masks-are-unstable": agreeing,
    "super-survivors-are-few": in_every_seed,
    "survivors-not-meaningful": shapes,
    "top-layers-move-most": lambda v, r: [similarity(TUNED, depths(v), r)],
    "elsewhere-moves-less": elsewhere,
    "parsing-moves-deeper": lambda v, r: [
        taught(similarity("pocket tuned on mine", depths(v), r), None, ("glue/mnli@/data/MNLI", {})),
        taught(similarity("pocket tuned on ewt", depths(0), r), None, ("/data/ewt", {"kind": "trees"})),
    ],
    "lower-layers-can-freeze": freeze,
    "trees-are-kept": lambda v, r: structure((BASE, TUNED), (0.6, 0.6 + v), r),
    "knowledge-is-kept": probed,
    "trees-come-from-training": lambda v, r: structure((BASE, RANDOM), (0.4 + v, 0.4), r),
    "low-level-below": expected,
    "cone-narrows": geometry("baseline", lambda v: [0.1, 0.9, 0.1 + v]),
    "words-grow-contextual": geometry("SelfSim*", lambda v: [0.5, 0.1, 0.5 + v]),
    "sentences-stay-apart": geometry("intra-sentence*", lambda v: [0.9, v, 0.9], share=1.0),
    "top-layer-costs-nothing": truncate,
    "without-top-layer-faster": truncate,
    "contrast-slows-the-cone": contrast("contrastive - before"),
    "contrast-by-its-pairs": contrast("contrastive - shuffled"),
    "bias-costs-31-points": bias("the cut", "all"),
    "bias-costs": bias("the cut", "all"),
    "bias-beyond-size": bias("its words", "all"),
    "bias-hits-the-slice": bias("its words", "slice"),
}  # fmt: skip
