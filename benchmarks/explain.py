"""Integrated gradients of the words of 500 sentences, beside captum's in a loop over texts."""

from __future__ import annotations

from benchmarks.captum_plain import find_captum, integrated
from benchmarks.options import Options, sentences
from benchmarks.plain import classifier, plain_model
from benchmarks.side_by_side import Claim, Report, Skipped, Variant, compare
from bertscope.models.attribution import attribute

CAPTUM, OURS = "captum, text by text", "bertscope"
NODES = 16


def run(options: Options) -> Report:
    attr = find_captum(options.captum)
    if attr is None:
        raise Skipped(
            "captum isn't installed; give its folder: pip install --no-deps --target FOLDER captum, --captum FOLDER"
        )
    data = sentences(options, "dev.tsv", options.size(500, 12))
    encoder, model = classifier(options.device), plain_model(options)
    nodes = options.size(NODES, 4)
    variants = [
        Variant(CAPTUM, lambda examples: lambda: integrated(attr, model, encoder.tokenizer, examples.text, nodes)),
        Variant(
            OURS,
            lambda examples: lambda: attribute(encoder, None, examples, nodes=nodes, most_nodes=nodes).values,
        ),
    ]
    least = 5 if options.device == "cuda" else 1.5
    return compare(
        f"integrated gradients of words, {nodes} points, pocket; tokenising included", variants, data, options,
        repeats=3, claims=[Claim(OURS, CAPTUM, least)],
        notes=["both first ask what is predicted; bertscope also what it is with every word masked"],
    )  # fmt: skip
