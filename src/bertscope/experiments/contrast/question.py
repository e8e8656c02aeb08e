"""`contrast`: does contrastive training open the cone in which an encoder's vectors lie?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.sentences.question import sentences
from bertscope.core.config import check_seeds
from bertscope.core.question import EITHER, MODEL, RESULTS, Question
from bertscope.core.step import Root, Step
from bertscope.training.contrastive.question import ContrastiveConfig, ContrastiveSettings, contrastive

BEFORE = "before"
"""The arm that isn't trained: the base."""
ARMS = {"true": "contrastive", "shuffled": "shuffled"}
"""The arms that are trained, by their positives."""


@dataclass(frozen=True)
class ContrastConfig(ContrastiveSettings):
    """How it is trained, and on what it is measured before and after."""

    sts: str = "demo/similarity"
    """Pairs of texts with scores: cosines are compared with the scores of its test set, and with those of its
    validation set during training. glue/stsb@FOLDER, or your own folder or file, whose columns need usual names
    (text1, text2, score): --text, --text-pair and --label belong to --on."""
    corpus: str | None = None
    """Texts on which the geometry is measured: a task, a treebank or a text file; by default the 500 sentences of
    demo/corpus's validation set."""
    control: bool = True
    """Also train with shuffled positives, to see whether the contrast does it or any training; --no-control leaves
    it out."""
    seeds: tuple[int, ...] = (0,)
    """Run one training (and one of the control) for each seed; 5 or more give intervals over trainings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        list(self.trainings())  # refuses what can't work

    def trainings(self) -> Iterator[ContrastiveConfig]:
        """Those with true positives, seed by seed, then those with shuffled ones."""
        how = {field.name: asdict(self)[field.name] for field in fields(ContrastiveSettings)}
        for positives in ("true", "shuffled") if self.control else ("true",):
            for seed in self.seeds:
                yield ContrastiveConfig(**how, positives=positives, seed=seed)


def plan(base: Step | Root, data: Root, config: ContrastConfig = ContrastConfig()) -> Step:  # noqa: B008 (frozen)
    """The trainings, and for the base and each of them: its texts' vectors, and its geometry."""
    from bertscope.data.corpus import examples_root
    from bertscope.data.read import task_root

    sts = task_root(config.sts)
    demo = examples_root("demo/corpus", split="validation")
    corpus = demo if config.corpus is None else examples_root(config.corpus)
    inputs = {"base": base, "data": data, "sts": sts}
    contrasted = [contrastive.step(inputs, training) for training in config.trainings()]
    models = [base, *contrasted]
    assert geometry.plan is not None
    listed = {
        "contrasted": contrasted,
        "pairs": [sentences.step({"model": model, "task": sts}) for model in models],
        "spaces": [geometry.plan(model, corpus, GeometryConfig()) for model in models],
    }
    steps = {f"{name}.{place}": step for name, several in listed.items() for place, step in enumerate(several)}
    return contrast.step(steps, config)


contrast = Question(
    __name__,
    """An encoder is trained to find each text's positive among those of a batch. Measured before and after: how
    alike two random words are in each layer, and how fast that grows with depth; how contextual words are; how well
    the cosine of two texts follows their score; alignment and uniformity. The same training with shuffled positives
    is the control.""",
    config=ContrastConfig,
    inputs={"contrasted": RESULTS, "pairs": RESULTS, "spaces": RESULTS},
    given={"base": MODEL, "data": EITHER},
    version=3,
    main="slope_difference",
    better="lower",
    cite="Gao et al. 2021, SimCSE: Simple Contrastive Learning of Sentence Embeddings; Ethayarajh 2019, How "
    "Contextual are Contextualized Word Representations?; Wang and Isola 2020 (alignment and uniformity)",
    plan=plan,
    columns={
        "curve": {"low, high": "means over seeds of the ends of each training's 95% interval"},
        "sts": {"low, high": "ends of the 95% interval of spearman"},
    },
    numbers={
        "slope": "slope, {arm}",
        "slope_difference": "slope, {arm} - {against}",
        "last_baseline": "baseline, last layer, {arm}",
        "spearman": "Spearman, {arm}",
        "spearman_difference": "Spearman, {arm} - {against}",
        "alignment": "alignment, {arm}",
        "uniformity": "uniformity, {arm}",
    },
    words={"measure": geometry.words.get("measure", {})},
    compared="what contrastive training adds to the cosine's growth a layer",
)
