"""`python -m benchmarks [names...]`: run, print, and with --json write down."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.options import Options
from bertscope.core.threads import be_considerate

NAMES = {
    "inference": "one pass of predictions",
    "ablation": "the scan of heads",
    "patching": "one activation of one text in another's run, exactly and by gradients",
    "likelihood": "minimal pairs by pseudo-log-likelihood",
    "attention": "five questions about attention in one pass",
    "memory": "the peak memory of those questions as the corpus grows",
    "series": "a dozen checkpoints in one reading of the texts",
    "explain": "integrated gradients beside captum (needs it, or --captum)",
    "training": "fine-tuning beside Hugging Face's Trainer (needs accelerate)",
    "frozen": "fine-tuning with half of the layers frozen, run every step or once",
    "graphs": "fine-tuning by CUDA graphs beside steps one by one (needs a GPU)",
    "pretraining": "pre-training beside its matrix products alone",
    "lottery": "the lottery of five seeds on STS-B, and a training of it one by one and recorded (needs a GPU)",
    "busy": "predictions beside processes that keep all cores busy",
    "reading": "files of labelled texts",
    "trees": "reading a treebank, and its trees' distances",
    "structure": "structural probes of all layers together",
    "representations": "RSA beside rsatoolbox, and the geometry of 100,000 words",
    "probe": "linear probes of all layers",
    "shrink": "fine-tuned models cut to be twice as fast, beside plain alternatives (needs --tuned)",
    "live": "the live page over HTTP: a head switched off, twenty clients, and opening it",
    "scale": "absolute times at bert-base's size (needs a GPU)",
}


def main(arguments: list[str] | None = None) -> None:
    be_considerate()  # as commands are
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.list:
        print("\n".join(f"{name:12}{what}" for name, what in NAMES.items()))
        return
    if unknown := [name for name in asked.names if name not in NAMES]:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    if asked.device == "cuda" and not _has_gpu():
        parser.error("there is no GPU here; leave --device out")
    given = {field.name: getattr(asked, field.name) for field in fields(Options)}
    options = Options(**given | {"tuned": tuple(asked.tuned)})
    written = _run(asked.names or list(NAMES), options)
    if asked.json:
        asked.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _run(names: list[str], options: Options) -> dict[str, Any]:
    from benchmarks.side_by_side import Skipped, machine

    facts = machine(options.device)
    print("  ".join(f"{name}: {value}" for name, value in facts.items()))
    if options.quick:
        print("quick: sizes so small that the figures mean nothing")
    written: dict[str, Any] = {"machine": facts, "quick": options.quick, "benchmarks": {}, "skipped": {}}
    for name in names:
        try:
            found = import_module(f"benchmarks.{name}").run(options)
        except Skipped as why:
            print(f"\n{name}: skipped. {why}")
            written["skipped"][name] = str(why)
            continue
        reports = found if isinstance(found, list) else [found]
        written["benchmarks"][name] = [report.to_json() for report in reports]
        for report in reports:
            print(f"\n{name}: {report}", flush=True)
    return written


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="bertscope's speed claims, measured.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(NAMES)}; by default all")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that everything runs")
    parser.add_argument("--repeats", type=_positive, help="rounds; by default what suits each benchmark")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and the machine's facts there")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data", type=Path, metavar="FILE", help="a .tsv with columns sentence and label")
    parser.add_argument("--rows", type=_positive, help="sentences; by default what each benchmark is about")
    heads = "heads of each layer that the baselines of ablation and patching run (default 1)"
    parser.add_argument("--heads", type=_positive, default=1, help=heads)
    parser.add_argument("--captum", type=Path, metavar="FOLDER", help="where captum is, if it isn't installed")
    shrunk = parser.add_argument_group("shrink")
    shrunk.add_argument("--tuned", nargs="+", default=[], metavar="FOLDER=TASK", help="models, and what they do")
    shrunk.add_argument("--store", type=Path, default=Options.store, help="where the answers are kept")
    shrunk.add_argument("--distill", action="store_true", help="train on what the whole model says, too")
    shrunk.add_argument("--epochs", type=_positive, help="of training what is left; by default the recipe's")
    return parser


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    main()
