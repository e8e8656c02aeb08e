"""One pass of predictions over the sentences, tokenising included."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.options import BATCH, Options, sentences
from benchmarks.plain import Padding, batches, classifier, logits, plain_model
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare
from bertscope.core.examples import Examples

PADDED, DYNAMIC, OURS = "transformers, padded to 128", "transformers, dynamic padding", "bertscope"


def run(options: Options) -> Report:
    data = sentences(options, "dev.tsv", options.size(872, 24))
    encoder, model = classifier(options.device), plain_model(options)

    def plain(padding: Padding) -> Callable[[Examples], Work]:
        return lambda examples: (
            lambda: logits(model, batches(encoder.tokenizer, examples.text, padding, options.device))
        )

    variants = [
        Variant(PADDED, plain("max_length")),
        Variant(DYNAMIC, plain("longest")),
        Variant(OURS, lambda examples: lambda: encoder.predict(examples).logits),
    ]
    return compare(
        f"one pass of predictions, pocket; transformers in file order, {BATCH} at a time; tokenising included",
        variants, data, options, repeats=7, claims=[Claim(OURS, PADDED, 5), Claim(OURS, DYNAMIC, 1.5)],
    )  # fmt: skip
