"""What bertscope can do, by name: the one place that may name every room.

A question is a line here and a folder of its name there. Help and planning read this and load nothing heavy: what the
folder declares is imported when it is asked for, and a declaring module imports neither torch nor pandas.
"""

from __future__ import annotations

from bertscope.core.registry import Entry, Kind, fill

# In the order in which the page tells them: findings first, the trainings they rest on last.
_ENTRIES = (
    Entry("bertscope.study.claims", "Which of the papers' claims hold here?", "stored"),
    Entry("bertscope.analyses.course", "When in the training did it come about?", "stored"),
    Entry("bertscope.analyses.courses", "Does it come about alike in every training?", "stored"),
    Entry("bertscope.experiments.scratch", "What does pretraining give?", "training"),
    Entry("bertscope.experiments.truncate", "Are the top layers needed?", "training"),
    Entry("bertscope.experiments.freeze", "Which layers need training?", "training"),
    Entry("bertscope.analyses.check", "Do a model and a data set belong together?", "rows"),
    Entry("bertscope.analyses.patterns", "What shape is each head's attention?", "attention"),
    Entry("bertscope.analyses.change", "What did fine-tuning change in the attention?", "attention"),
    Entry("bertscope.analyses.graft", "Where does what fine-tuning taught live?", "parts"),
    Entry("bertscope.analyses.features", "Which words draw attention, and which words attend to which?", "attention"),
    Entry("bertscope.analyses.relations", "Which heads link words that stand in a relation?", "attention"),
    Entry("bertscope.analyses.redundancy", "How different are the heads from each other?", "attention"),
    Entry("bertscope.analyses.ablate", "What if a head, an MLP or a layer is switched off?", "parts"),
    Entry("bertscope.analyses.explain", "Which words made this prediction?", "rows"),
    Entry("bertscope.analyses.errors", "Where does the model go wrong?", "rows"),
    Entry("bertscope.analyses.patch", "Which activation carries the difference between two texts?", "parts"),
    Entry("bertscope.analyses.masked_words", "How well does the model guess masked words?", "rows"),
    Entry("bertscope.analyses.minimal_pairs", "Is the good text of a pair the likelier one?", "rows"),
    Entry("bertscope.analyses.forgetting", "What does fine-tuning forget on its way?", "layers"),
    Entry("bertscope.analyses.importance", "How important is each head and MLP, by gradient?", "parts"),
    Entry("bertscope.analyses.circuit", "How few parts do what the whole model does?", "parts"),
    Entry("bertscope.analyses.versus", "What does another model fix and break?", "rows"),
    Entry(
        "bertscope.experiments.lottery",
        "How small a subnetwork still does the task, and does it train again?",
        "training",
    ),
    Entry("bertscope.experiments.overlap", "Do lotteries find the same heads?", "stored"),
    Entry("bertscope.experiments.prune", "How small a part of a fine-tuned model still does its task?", "smaller"),
    Entry("bertscope.analyses.similarity", "How far did each layer's representation move?", "layers"),
    Entry("bertscope.analyses.structure", "Does a layer hold the syntax tree?", "layers"),
    Entry("bertscope.analyses.probe", "What else does a layer know?", "layers"),
    Entry("bertscope.analyses.erase", "Does the model use what a layer knows?", "layers"),
    Entry("bertscope.analyses.readout", "In which layer does the answer appear?", "layers"),
    Entry("bertscope.analyses.project", "How do a sentence's tokens travel through the layers?", "layers"),
    Entry("bertscope.analyses.geometry", "Is the space a cone, and how contextual are its words?", "layers"),
    Entry("bertscope.experiments.bias", "What does a gap in the training data do?", "training"),
    Entry("bertscope.experiments.mislabelled", "Which training labels may be wrong?", "training"),
    Entry("bertscope.experiments.scratch.untuned", "Answer the test texts before any training."),
    Entry("bertscope.experiments.bias.swap", "Answer the test texts with words exchanged."),
    Entry("bertscope.experiments.contrast", "Does contrastive training open the cone?", "training"),
    Entry("bertscope.analyses.sentences", "Do texts with similar meanings have similar vectors?", "layers"),
    Entry("bertscope.training.contrastive", "Train an encoder to tell which texts belong together."),
    Entry("bertscope.experiments.lottery.ticket", "Train a subnetwork from the pretrained weights."),
    Entry("bertscope.experiments.shrink", "Cut a model down to what its task needs.", "smaller"),
    Entry("bertscope.analyses.states", "Keep the hidden states of a corpus.", "layers"),
    Entry("bertscope.analyses.shards.division", "Find where the windows of a corpus begin."),
    Entry("bertscope.analyses.shards.survey", "Find what a question has to know of a whole corpus first."),
    Entry("bertscope.analyses.shards.sums", "Keep what a question adds up over one shard of a corpus."),
    Entry("bertscope.training.finetune", "Train an encoder on a task.", "training"),
    Entry("bertscope.training.pretrain", "Learn a language from plain text.", "training"),
)

_KINDS = {
    "model": Kind(
        open="bertscope.models.load:open_model",
        root="bertscope.models.known_base:model_root",
        folder="model",
    ),
    "scorer": Kind(
        open="bertscope.models.scorer:open_scorer",
        root="bertscope.models.onnx_file:scorer_root",
        folder="model",
    ),
    "task": Kind(open="bertscope.data.read:read_task", root="bertscope.data.read:task_root"),
    "examples": Kind(open="bertscope.data.corpus:read_examples", root="bertscope.data.corpus:examples_root"),
    "data": Kind(open="bertscope.data.corpus:read_data", root="bertscope.data.corpus:data_root"),
    "corpus": Kind(open="bertscope.data.corpus:open_streamed", root="bertscope.data.corpus:streamed_root"),
    "division": Kind(open="bertscope.data.division:Division.load", folder="division"),
    "survey": Kind(open="bertscope.core.sums:Sums.load", folder="survey"),
    "sums": Kind(open="bertscope.analyses.shards.adding:open_sums", folder="sums"),
    "pairs": Kind(
        open="bertscope.data.minimal:read_pairs",
        root="bertscope.data.minimal:pairs_root",
        reading="bertscope.data.pair_options:PairDataOptions",
    ),
    "states": Kind(
        open="bertscope.models.states_store:open_store",
        accept="bertscope.models.load:accept_states",
        folder="states",
    ),
    "documents": Kind(open="bertscope.data.documents:open_documents", root="bertscope.data.documents:documents_root"),
    "result": Kind(open="bertscope.core.result:load_result", root="bertscope.core.result:result_root"),
    "map_labels": Kind(
        open="bertscope.analyses.shapes.own_labels:read_labels",
        root="bertscope.analyses.shapes.own_labels:labels_root",
    ),
}

fill(
    {entry.name: entry for entry in _ENTRIES},
    _KINDS,
    {
        "given_text": "bertscope.data.given_text:given_text",
        "added_up": "bertscope.analyses.shards.adding:added_up",
        "in_shards": "bertscope.analyses.shards.plan:in_shards",
        "attention_frame": "bertscope.report.attention:frame",
        "attention_page": "bertscope.report.attention:write_page",
        "bring_together": "bertscope.models.one_place:bring_together",
        "chart": "bertscope.report.charts:chart",
        "over_series": "bertscope.analyses.course.question:over_series",
        "over_trainings": "bertscope.analyses.courses.question:over_trainings",
        "reading_options": "bertscope.data.options:DataOptions",
        "refuse_unlike": "bertscope.models.series:refuse_unlike",
        "second_corpus": "bertscope.data.corpus:options_of_second",
        "series": "bertscope.models.series:as_series",
        "stored_answer": "bertscope.study.answer:answer",
    },
)
