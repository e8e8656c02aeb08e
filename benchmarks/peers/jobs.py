"""The same job by another library and by bertscope, for each library. Times are taken in turn, in one run."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks import explain, inference, representations, training
from benchmarks.options import Options, sentences
from benchmarks.plain import classifier, plain_model
from benchmarks.side_by_side import Report, Variant, Work, compare, difference
from bertscope.core.examples import Examples
from bertscope.models.attribution import attribute
from bertscope.models.load import load
from bertscope.models.sentence_vectors import text_vectors

OURS = "bertscope"
TEXT = "The old man never said that he liked the winter, and nobody asked him why he stayed."
_POINTS = 16


@dataclass(frozen=True)
class Compared:
    """What came of a job: seconds, or bytes."""

    job: str
    theirs: float
    ours: float
    unit: str
    agreement: str
    """How far the two agree, in words."""

    @classmethod
    def of(cls, report: Report, theirs: str, ours: str, job: str) -> Compared:
        apart = "" if report.agreement is None else _apart("results", report.agreement)
        return cls(f"{job}; {report.data}", report.seconds(theirs), report.seconds(ours), "s", apart)


@dataclass(frozen=True)
class Peer:
    package: str
    name: str
    work: Callable[[Options], Compared]
    beyond: str
    """What it does that bertscope doesn't."""


def _apart(what: str, largest: float) -> str:
    return f"{what} differ by {largest:.0e} at most" if largest else f"{what} are equal"


def plain(options: Options) -> Compared:
    report = inference.run(replace(options, rows=options.size(200, 24), repeats=options.rounds(3)))
    return Compared.of(report, inference.DYNAMIC, inference.OURS, "predictions of pocket, dynamic padding")


def trainer(options: Options) -> Compared:
    report = training.run(replace(options, rows=options.size(320, 16), repeats=options.rounds(2)))
    return Compared.of(report, training.TRAINER, training.OURS, "an epoch of fine-tuning pocket, the steps alone")


def captum(options: Options) -> Compared:
    report = explain.run(replace(options, rows=options.size(16, 4), repeats=options.rounds(2)))
    return Compared.of(report, explain.CAPTUM, explain.OURS, "integrated gradients of words, 16 points")


def interpret(options: Options) -> Compared:
    """Its reference is padding, ours the text with every word masked: the numbers aren't the same."""
    from transformers_interpret import SequenceClassificationExplainer

    data = sentences(options, "dev.tsv", options.size(16, 2))
    encoder, model = classifier(options.device), plain_model(options)
    explainer = SequenceClassificationExplainer(model, encoder.tokenizer)

    def theirs(examples: Examples) -> Work:
        def work() -> None:
            for text in examples.text:
                explainer(text, n_steps=_POINTS)

        return work

    def ours(examples: Examples) -> Work:
        def work() -> None:
            attribute(encoder, None, examples, nodes=_POINTS, most_nodes=_POINTS)

        return work

    variants = [Variant("transformers-interpret", theirs), Variant(OURS, ours)]
    report = compare("integrated gradients", variants, data, options, repeats=2)
    made = Compared.of(report, "transformers-interpret", OURS, f"integrated gradients of words, {_POINTS} points")
    return replace(made, agreement="not compared: it starts from padding, bertscope from masked words")


def rsa(options: Options) -> Compared:
    report = representations._rsa(replace(options, repeats=options.rounds(3)))
    return Compared.of(report, representations.TOOLBOX, representations.OURS, "RSA of two layers, 5,000 words")


def pruning(options: Options) -> Compared:
    import torch_pruning

    data = sentences(options, "dev.tsv", 8)
    encoder, model = classifier(options.device), plain_model(options)
    inputs = dict(encoder.tokenizer(list(data.examples.text), padding=True, return_tensors="pt"))
    # Of each layer the half of its neurons that read the least.
    entries = [layer.intermediate.dense.weight.detach() for layer in model.bert.encoder.layer]
    least = [weight.norm(dim=1).argsort()[: len(weight) // 2].tolist() for weight in entries]
    units = [f"neuron:{layer}.{neuron + 1}" for layer, some in enumerate(least, start=1) for neuron in some]

    def theirs(whole: torch.nn.Module) -> torch.nn.Module:
        graph = torch_pruning.DependencyGraph().build_dependency(
            whole, example_inputs=inputs, output_transform=lambda said: said.logits.sum()
        )
        for layer, some in zip(whole.bert.encoder.layer, least, strict=True):
            graph.get_pruning_group(
                layer.intermediate.dense, torch_pruning.prune_linear_out_channels, idxs=some
            ).prune()
        return whole

    def ours() -> torch.nn.Module:
        return encoder.cut(units).model

    @torch.no_grad()
    def said(smaller: torch.nn.Module) -> np.ndarray:
        return smaller(**inputs).logits.numpy()

    def prepared(_: Examples) -> Work:
        whole = copy.deepcopy(model)

        def work() -> None:
            theirs(whole)

        return work

    def cut(_: Examples) -> Work:
        def work() -> None:
            ours()

        return work

    apart = difference([said(theirs(copy.deepcopy(model))), said(ours())])
    report = compare(
        "pruning", [Variant("Torch-Pruning", prepared), Variant(OURS, cut)], data, options, repeats=5, agreement=apart
    )
    return replace(
        Compared.of(report, "Torch-Pruning", OURS, "half of the neurons of pocket's 12 MLPs removed for good"),
        job="half of the neurons of pocket's 12 MLPs removed for good; bertscope also copies the model",
    )


def sentence_transformers(options: Options) -> Compared:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    data = sentences(options, "dev.tsv", options.size(400, 24))
    with tempfile.TemporaryDirectory() as folder:
        saved = load("pocket", task_head="none", device="cpu").save(Path(folder) / "pocket")
        module = Transformer(str(saved))
        peer = SentenceTransformer(modules=[module, Pooling(192)], device=options.device)
        peer.save(folder + "/sentences")
        encoder = load(folder + "/sentences", device=options.device)

    def theirs(examples: Examples) -> Work:
        return lambda: peer.encode(list(examples.text), batch_size=32, show_progress_bar=False)

    def ours(examples: Examples) -> Work:
        return lambda: text_vectors(encoder, examples.text, pools=(), layers=()).own

    variants = [Variant("sentence-transformers", theirs), Variant(OURS, ours)]
    report = compare("vectors of sentences", variants, data, options, repeats=3)
    return Compared.of(report, "sentence-transformers", OURS, "the mean vector of each sentence, pocket")


def bertviz(options: Options) -> Compared:
    from bertviz import model_view

    import bertscope

    encoder, model = classifier(options.device), plain_model(options)
    model.set_attn_implementation("eager")
    coded = encoder.tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        maps = model(**coded, output_attentions=True).attentions
    tokens = encoder.tokenizer.convert_ids_to_tokens(coded.input_ids[0])
    theirs = model_view(maps, tokens, html_action="return").data
    shown = bertscope.attention(encoder, TEXT)
    apart = max(
        float(np.abs(np.asarray(one) - other[0].numpy()).max()) for one, other in zip(shown.maps, maps, strict=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        shown.page(page)
        size = page.stat().st_size
    return Compared(
        f"a page with all 144 heads' maps of {len(tokens)} tokens; BertViz's is for a notebook and loads three "
        "scripts from the network",
        len(theirs.encode()) / 1e6, size / 1e6, "MB", _apart("maps, before rounding,", apart),
    )  # fmt: skip


PEERS = (
    Peer("transformers", "transformers", plain, "every architecture, not only encoders; generation; quantising"),
    Peer("transformers", "Trainer", trainer, "many GPUs and machines, DeepSpeed, FSDP, callbacks, logging services"),
    Peer("captum", "captum", captum, "any PyTorch model; some twenty methods of attribution; images"),
    Peer("transformers-interpret", "transformers-interpret", interpret, "zero-shot and image classifiers"),
    Peer("rsatoolbox", "rsatoolbox", rsa, "brain data; noise ceilings, crossvalidated distances, model fitting"),
    Peer("torch-pruning", "Torch-Pruning", pruning, "any PyTorch model, by tracing it; many importances"),
    Peer("sentence-transformers", "sentence-transformers", sentence_transformers,
         "many losses, rerankers, sparse encoders, several processes; it is made for using models, bertscope for "
         "looking into them"),
    Peer("bertviz", "BertViz", bertviz, "decoders and encoder-decoders; single neurons of queries and keys"),
)  # fmt: skip
