"""bertscope opens up BERT-family encoders before and after fine-tuning."""

# Made from the declarations by tests/support/call_stub.py: a test holds it to them. Change those, and run that.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from bertscope import catalogue as catalogue
from bertscope.analyses.ablate.question import AblateConfig as AblateConfig
from bertscope.analyses.attention.of_text import attention as attention
from bertscope.analyses.change.question import ChangeConfig as ChangeConfig
from bertscope.analyses.check.question import CheckConfig as CheckConfig
from bertscope.analyses.circuit.question import CircuitConfig as CircuitConfig
from bertscope.analyses.course.question import CourseConfig as CourseConfig
from bertscope.analyses.courses.question import CoursesConfig as CoursesConfig
from bertscope.analyses.erase.question import EraseConfig as EraseConfig
from bertscope.analyses.errors.question import ErrorsConfig as ErrorsConfig
from bertscope.analyses.explain.question import ExplainConfig as ExplainConfig
from bertscope.analyses.features.question import FeaturesConfig as FeaturesConfig
from bertscope.analyses.forgetting.question import ForgettingConfig as ForgettingConfig
from bertscope.analyses.geometry.question import GeometryConfig as GeometryConfig
from bertscope.analyses.graft.question import GraftConfig as GraftConfig
from bertscope.analyses.importance.question import ImportanceConfig as ImportanceConfig
from bertscope.analyses.masked_words.question import MaskedWordsConfig as MaskedWordsConfig
from bertscope.analyses.minimal_pairs.question import MinimalPairsConfig as MinimalPairsConfig
from bertscope.analyses.patch.question import PatchConfig as PatchConfig
from bertscope.analyses.patterns.question import PatternsConfig as PatternsConfig
from bertscope.analyses.probe.question import ProbeConfig as ProbeConfig
from bertscope.analyses.project.question import ProjectConfig as ProjectConfig
from bertscope.analyses.readout.question import ReadoutConfig as ReadoutConfig
from bertscope.analyses.redundancy.interactions import together as together
from bertscope.analyses.redundancy.question import RedundancyConfig as RedundancyConfig
from bertscope.analyses.relations.question import RelationsConfig as RelationsConfig
from bertscope.analyses.sentences.question import SentencesConfig as SentencesConfig
from bertscope.analyses.shapes.one_map import ClassifiedMap as ClassifiedMap
from bertscope.analyses.shapes.one_map import classify_map as classify_map
from bertscope.analyses.similarity.question import SimilarityConfig as SimilarityConfig
from bertscope.analyses.states.measure import States
from bertscope.analyses.states.question import StatesConfig as StatesConfig
from bertscope.analyses.structure.question import StructureConfig as StructureConfig
from bertscope.analyses.versus.question import VersusConfig as VersusConfig
from bertscope.core.attention_maps import AttentionMaps as AttentionMaps
from bertscope.core.errors import BugError as BugError
from bertscope.core.errors import UserError as UserError
from bertscope.core.examples import Examples as Examples
from bertscope.core.question import Question as Question
from bertscope.core.result import Result as Result
from bertscope.core.series import Series as Series
from bertscope.core.step import Step as Step
from bertscope.core.store import Store as Store
from bertscope.data.minimal import MinimalPairs as MinimalPairs
from bertscope.data.task import Task as Task
from bertscope.experiments.bias.question import BiasConfig as BiasConfig
from bertscope.experiments.contrast.question import ContrastConfig as ContrastConfig
from bertscope.experiments.freeze.question import FreezeConfig as FreezeConfig
from bertscope.experiments.lottery.question import LotteryConfig as LotteryConfig
from bertscope.experiments.mislabelled.question import MislabelledConfig as MislabelledConfig
from bertscope.experiments.overlap.question import OverlapConfig
from bertscope.experiments.prune.measure import Pruned
from bertscope.experiments.prune.question import PruneConfig as PruneConfig
from bertscope.experiments.scratch.question import ScratchConfig as ScratchConfig
from bertscope.experiments.shrink.measure import Shrunk
from bertscope.experiments.shrink.question import ShrinkConfig as ShrinkConfig
from bertscope.experiments.truncate.question import TruncateConfig as TruncateConfig
from bertscope.live.notebook import Exploration as Exploration
from bertscope.live.notebook import explore as explore
from bertscope.models.encoder import Encoder as Encoder
from bertscope.models.load import load as load
from bertscope.models.observe import observe as observe
from bertscope.models.series import series as series
from bertscope.models.states import hidden_states as hidden_states
from bertscope.models.states_store import StatesStore as StatesStore
from bertscope.report.build import build_report as build_report
from bertscope.study.claims.question import ClaimsConfig
from bertscope.study.file import read_study as read_study
from bertscope.study.inspection import Inspection as Inspection
from bertscope.study.inspection import inspect as inspect
from bertscope.study.run import run_study as run_study
from bertscope.study.runner import run_steps as run_steps
from bertscope.training.contrastive.question import ContrastiveConfig as ContrastiveConfig
from bertscope.training.finetune.question import FinetuneConfig as FinetuneConfig
from bertscope.training.history import Trained
from bertscope.training.pretrain.question import PretrainConfig as PretrainConfig
from bertscope.training.watching import Watch as Watch

__version__: str
__all__: list[str]

class _TransformersModel(Protocol):
    def get_input_embeddings(self) -> Any: ...
    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any: ...

class _TransformersTokenizer(Protocol):
    def convert_tokens_to_ids(self, *args: Any, **kwargs: Any) -> Any: ...
    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any: ...

class _DataFrame(Protocol):
    @property
    def columns(self) -> Any: ...
    @property
    def iloc(self) -> Any: ...

class _Series(Protocol):
    def isna(self) -> Any: ...
    def tolist(self) -> Any: ...

class _Dataset(Protocol):
    @property
    def column_names(self) -> Any: ...
    def with_format(self, *args: Any, **kwargs: Any) -> Any: ...

ModelLike: TypeAlias = str | Path | Encoder | _TransformersModel
"""`pocket`, a folder, a hub id, a transformers model, or an Encoder."""
StatesLike: TypeAlias = ModelLike | StatesStore
"""A model, or hidden states that are kept already."""
TokenizerLike: TypeAlias = str | Path | _TransformersTokenizer
DataLike: TypeAlias = (
    str | Path | Sequence[str] | Sequence[Mapping[str, Any]] | _DataFrame | _Series | _Dataset | Task | Examples
)
"""A name or a path, a list of texts or of dicts, a DataFrame or a Series, a Dataset, a DatasetDict or a Column, a
Task, or Examples."""
PairsLike: TypeAlias = DataLike | MinimalPairs | Sequence[tuple[Any, Any]]
"""A name or a path, a list of tuples (clean, corrupted) or of dicts, a DataFrame, a Dataset, or MinimalPairs; with
`swap` any texts."""
ResultLike: TypeAlias = str | Path | Result
"""A result, or its folder."""
StoreLike: TypeAlias = str | Path | Store

def read_task(
    source: DataLike,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    seed: int = 0,
    without: str | Sequence[str] = (),
    at_random: int | None = None,
    flip: float = 0.0,
    flip_seed: int = 0,
    fold: int | Sequence[int] = (),
) -> Task:
    """Read a task from `demo/NAME`, a name such as `glue/rte`, a file, a folder with train and dev files, or from
    rows in memory: a DataFrame, a list of dicts, a Dataset or a DatasetDict.

    Columns that aren't named are guessed, and the guess is said in the task's notes. `kind` is told from the labels
    unless it is given; `trees` makes a task of sentences with trees, `spans` one of questions with answers, `tokens`
    one of words with tags, `masked` one of guessing masked words (as which texts alone are read), `vectors` one of
    scored pairs for embedding models. `limit` keeps that many rows of each split; `seed` decides the splits, or the
    demo's sentences. `root` is the folder in which a task known by name lies. `skip_bad` leaves out rows that can't
    be used, and the notes say how many. `without` leaves rows that mention certain words out of train and validation,
    or with `at_random` as many others. An example's id is its file's name and the line it begins on.

    Args:
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        without: Leave the rows that mention one of these words out of train and validation.
        at_random: With `without`: leave out as many rows of each label as that would, but drawn with this seed.
        flip: Label this share of the training rows as something else, drawn at random: to see who finds them again.
        flip_seed: With `flip`: decides which rows these are, and what they are labelled.
        fold: Which of how many folds, such as (1, 5): that part of the training rows is held out, and is the test set.
    """

def read_examples(
    source: DataLike,
    *,
    split: Literal['train', 'validation', 'test', 'published-train', 'published-dev', 'published-test'] = 'test',
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    seed: int = 0,
    without: str | Sequence[str] = (),
    at_random: int | None = None,
    flip: float = 0.0,
    flip_seed: int = 0,
    fold: int | Sequence[int] = (),
) -> Examples:
    """Read texts, with labels and annotation where the source has them; a list of texts, a Series or a Column is one
    too, and whatever `read_task` takes. `limit` draws that many at random.

    `split` is which part of a task: `train`, `validation` and `test` are those of `read_task`; `published-train`,
    `published-dev` and `published-test` are the splits of a task known by name, as its authors publish them. What is
    no task to train on can be read here too: HANS, which is for evaluation, and SQuAD's questions without an answer.

    Args:
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        without: Leave the rows that mention one of these words out of train and validation.
        at_random: With `without`: leave out as many rows of each label as that would, but drawn with this seed.
        flip: Label this share of the training rows as something else, drawn at random: to see who finds them again.
        flip_seed: With `flip`: decides which rows these are, and what they are labelled.
        fold: Which of how many folds, such as (1, 5): that part of the training rows is held out, and is the test set.
    """

def read_pairs(
    source: PairsLike,
    *,
    clean: str | None = None,
    corrupted: str | None = None,
    clean_pair: str | None = None,
    corrupted_pair: str | None = None,
    phenomenon: str | None = None,
    only: str | Sequence[str] = (),
    swap: str | Sequence[str] = (),
    text: str | None = None,
    text_pair: str | None = None,
    split: Literal['train', 'validation', 'test', 'published-train', 'published-dev', 'published-test'] = 'test',
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    seed: int = 0,
) -> MinimalPairs:
    """Read minimal pairs from `demo/minimal`, a file or a folder, BLiMP's zip, or what is in memory: a list of tuples
    (clean, corrupted) or of dicts, a DataFrame, a Dataset.

    The columns are guessed unless `clean` and `corrupted` name them. `swap` makes pairs of ordinary texts, by
    exchanging words. `only` keeps some phenomena, `limit` that many pairs, drawn by `seed`.

    Args:
        clean: The column with the clean, or good, text of each pair; guessed from its name otherwise.
        corrupted: The column with the corrupted, or bad, one.
        clean_pair: The column with the second text of the clean one, for models that read two; of both, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text of the corrupted one.
        phenomenon: The column that says what each pair is about; guessed otherwise, of BLiMP `linguistics_term`.
        only: Read the pairs of these phenomena alone.
        swap: Make pairs of ordinary texts by exchanging words: a file with a pair of words such as she/he on each line, pairs themselves, or gender.
        text: With --swap: the column with the text; guessed otherwise.
        text_pair: With --swap: the column with the second text.
        split: Which split of a demo language, or with --swap of a task, is read.
        limit: Use at most this many pairs, the phenomena in about the same shares.
        root: With --swap: the folder in which a task known by name lies; from the hub otherwise.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        seed: Decides which pairs a limit keeps, and what a demo language says.
    """

def ablate(
    model: ModelLike,
    task: DataLike,
    config: AblateConfig | None = None,
    *,
    units: Literal['head', 'heads', 'mlp', 'layer'] | Sequence[Literal['head', 'heads', 'mlp', 'layer']] = ('head', 'heads', 'mlp', 'layer'),
    sets: str | Sequence[str] = (),
    mode: Literal['uniform', 'zero', 'mean', 'position', 'resample', 'optimal'] = 'uniform',
    repeats: int = 2000,
    permutations: int = 9999,
    null: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """What if a head, an MLP or a layer is switched off?

    Each part, or named set of parts, is switched off alone, and the model's score and loss on the test set are
    compared with those when whole: the same examples, a paired bootstrap interval, and a paired test (McNemar's for
    accuracy, by permutation otherwise) corrected for the number of parts of that kind (Holm). How far predictions
    move and how many flip stand beside, which of them flip without which part, and how reliable each ranking of parts
    is: where the score's reliability is under .5, the loss is told first.

    With --null: how often something is found where whole and ablated outputs are exchanged row by row at random; beside it the same of random weights, and what a random part of the same rank and norm costs in a head's place.

    Args:
        units: The kinds of parts: head (each one), heads (all of a layer), mlp, layer (skipped whole).
        sets: Parts to switch off together, each set with a name: top=head:12.1+head:12.2 both=mlp:3+mlp:4.
        mode: What a head that is off leaves behind. uniform: equal attention to every token, as in Dark Secrets; zero: nothing, as in Michel et al.; of the validation set, mean: its average output; position: its average output at each place; resample: its output on another text, mean of 5 draws (5 times the work); optimal: the constant with which predictions move least (some 10 times the work). With uniform and zero an MLP leaves nothing, else what heads do; a layer that is off passes its input on.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value; that of accuracy is exact and needs none, but for draws of resample.
        null: Whether to show, too, how often the tests find something where there is nothing, what the parts cost in a model with random weights, and what random parts cost in the place of heads: about ten times the work.
        seed: Of the resampling, random weights, random parts and other texts (resample); else the model's predictions have nothing random in them.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def bias(
    base: ModelLike,
    task: DataLike,
    config: BiasConfig | None = None,
    *,
    words: str | Sequence[str] = ('women', 'woman', 'girl', 'girls', 'mother', 'wife', 'female'),
    seeds: int | Sequence[int] = (0,),
    swap: str | Sequence[str] = (),
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """What does a gap in the training data do?

    Rows that mention certain words leave the training data, and the test set stays as it is. Against training on
    all rows, that is the effect of the cut; against a random cut of the same size and labels, it is the effect of its
    words. Both are given for all test rows, for those with the words (slice) and for the rest; beside them, how
    often the answer changes when words of gender are exchanged.

    Args:
        words: Rows that mention one of these (whole words, in either text) leave train and validation; by default English words for women.
        seeds: Three trainings for each: on all rows, without the words, and without as many random rows; 5 or more give intervals over trainings.
        swap: Words to exchange in the test texts, such as she/he: does the answer change? By default English words of gender.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def change(
    before: ModelLike,
    after: ModelLike,
    examples: DataLike,
    config: ChangeConfig | None = None,
    *,
    weighted: bool = False,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """What did fine-tuning change in the attention?

    Each head's maps before and after, on the same tokens: the cosine of the flattened maps, cropped to the real
    tokens, and the Jensen-Shannon divergence of each query's attention; by head, by layer, and how much of the change
    is in the last two layers. And from which shape to which the maps went (see `patterns`).

    Args:
        weighted: Norm-weighted attention: attention times the length of the vector it moves, so that looking at a token and taking nothing from it doesn't count (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling; nothing else is random.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def check(
    model: ModelLike,
    task: DataLike,
    config: CheckConfig | None = None,
    *,
    repeats: int = 2000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Do a model and a data set belong together?

    The first look, in one pass over the test set: the score beside a constant answer's and what can be had without
    any encoder (a bag of words, looking words up), paired on the same rows; test rows that training has seen, and the
    score without them; rows with the same text and another label; texts that are longer than the model reads; pieces
    that its tokenizer doesn't know; and how many pieces it cuts a word into.

    Args:
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def circuit(
    model: ModelLike,
    task: DataLike,
    config: CircuitConfig | None = None,
    *,
    rankings: ResultLike | Sequence[ResultLike] | None = None,
    units: Literal['head', 'mlp', 'both'] | Sequence[Literal['head', 'mlp', 'both']] = ('head', 'mlp'),
    by: Literal['loss', 'kl', 'gradient', 'integrated'] | Sequence[Literal['loss', 'kl', 'gradient', 'integrated']] = ('loss', 'kl', 'gradient', 'integrated'),
    mode: Literal['mean', 'optimal', 'position', 'zero', 'uniform'] = 'mean',
    steps: int = 10,
    random: int = 5,
    nodes: int = 16,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """How few parts do what the whole model does?

    Parts are ranked on the validation set, in several ways; stored results that rank them can be given beside. By
    each ranking the best k are kept and the rest is off: the test set's score, and how far predictions are from the
    whole model's (KL), over k. The area under each curve has a paired bootstrap interval and stands beside that of
    random orders. The smallest circuit is the one from which on the validation set's score stays within a tenth of
    the skill above chance; the test set then says whether it is as good as the whole model.

    Args:
        rankings: Folders of stored results that rank the model's heads or MLPs (ablate, graft, importance, patch ...): their orders are followed too.
        units: What is ranked: head (the MLPs stay on), mlp (the heads stay on), both (heads and MLPs together).
        by: How parts are ranked on the validation set. loss, kl: what the part's absence alone does to the loss, and to predictions; gradient: the size of the loss's gradient at its gate, as in `importance`; integrated: that gradient with its sign, over gates that open together from 0 to 1.
        mode: What a part that is off leaves behind. Of the validation set, mean: its average output; optimal: the constants with which predictions move least, fitted for each set of parts; position: its average output at each place. zero: nothing; uniform: a head attends equally to every token, and an MLP leaves nothing.
        steps: In how many steps the kept parts go from none to all.
        random: How many random orders stand beside the rankings.
        nodes: Of integrated: at how many places between 0 and 1 the gradient is taken; twice and four times as many where the sum misses more than 1% of what it should be.
        repeats: Bootstrap resamples behind each interval.
        seed: Of the random orders and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def claims(
    results: ResultLike | Sequence[ResultLike],
    config: ClaimsConfig | None = None,
    *,
    store: StoreLike | None = None,
) -> Result:
    """Which of the papers' claims hold here?

    Each claim is a statement about one number. It holds if the number's whole 95% interval is on the claimed side,
    fails if all of it is on the other, and is underpowered otherwise, or if no interval can be had. What an interval
    over texts decides of one fine-tuned model is decided of this training. What must be so for a number to be
    evidence, such as which model came of which, each claim says, and is asked before.

    Args:
        store: The store in which the answer is looked for, and kept.
    """

def contrast(
    base: ModelLike,
    data: DataLike,
    config: ContrastConfig | None = None,
    *,
    pairs: Literal['unsupervised', 'pairs', 'triples'] = 'unsupervised',
    temperature: float = 0.05,
    pool: Literal['cls', 'mean'] = 'cls',
    projection: bool = True,
    length: int = 32,
    batch_size: int = 64,
    epochs: int | None = None,
    learning_rate: float | None = None,
    least_score: float | None = None,
    sentences: bool = False,
    sts: str = 'demo/similarity',
    corpus: str | None = None,
    control: bool = True,
    seeds: int | Sequence[int] = (0,),
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """Does contrastive training open the cone?

    An encoder is trained to find each text's positive among those of a batch. Before and after: how alike two
    random words are by layer, and how fast that grows with depth; how contextual words are; how the cosine of two
    texts follows their score; alignment and uniformity. Beside it the same training with shuffled positives.

    Args:
        pairs: unsupervised: two dropout views of a text; pairs: two texts that mean the same, or follow; triples: a premise, what follows from it and what contradicts it.
        temperature: What cosines are divided by.
        pool: A text's vector in the last layer: the first token's, or the mean of its tokens', special ones excepted.
        projection: A linear map and tanh on top of the vectors while training, as in SimCSE; --no-projection leaves it out.
        length: Texts are cut to so many tokens in training.
        batch_size: Texts, pairs or triples per step: each one's negatives are the others'.
        epochs: How often the data is gone through; by default once unsupervised, otherwise 3 times.
        learning_rate: The highest learning rate; by default 3e-5 unsupervised and otherwise 5e-5, ten times that under 384 hidden units.
        least_score: Pairs of a task with scores: the least score of two texts that mean the same; by default four fifths of the highest.
        sentences: Unsupervised: split texts into sentences.
        sts: Pairs of texts with scores: the cosines of the test set's are compared with them, the validation set's are followed in training. glue/stsb@FOLDER, or a folder or file of one's own, whose columns need usual names (text1, text2, score): --text, --text-pair and --label are those of --on.
        corpus: Texts of which the geometry is measured: a task, a treebank or a text file; by default the 500 sentences of demo/corpus's validation set.
        control: Also train with shuffled positives: is it the contrast, or any training? --no-control leaves it out.
        seeds: One training (and one of the control) for each; 5 or more give intervals over trainings.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def contrastive(
    base: ModelLike,
    data: DataLike,
    config: ContrastiveConfig | None = None,
    *,
    pairs: Literal['unsupervised', 'pairs', 'triples'] = 'unsupervised',
    temperature: float = 0.05,
    pool: Literal['cls', 'mean'] = 'cls',
    projection: bool = True,
    length: int = 32,
    batch_size: int = 64,
    epochs: int | None = None,
    learning_rate: float | None = None,
    least_score: float | None = None,
    sentences: bool = False,
    positives: Literal['true', 'shuffled'] = 'true',
    keep: Literal['last', 'best'] | int = 'last',
    keep_spacing: Literal['even', 'logarithmic'] = 'even',
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    """Train an encoder to tell which texts belong together.

    Cross-entropy over the cosines within a batch. A tenth of the sets (at most 1,000) is held out and followed;
    with `sts`, a task of pairs with scores, the score is how cosines follow those of its validation set. With `out`,
    a plain Hugging Face encoder is written there, and a training that was killed goes on from its last epoch.

    Args:
        pairs: unsupervised: two dropout views of a text; pairs: two texts that mean the same, or follow; triples: a premise, what follows from it and what contradicts it.
        temperature: What cosines are divided by.
        pool: A text's vector in the last layer: the first token's, or the mean of its tokens', special ones excepted.
        projection: A linear map and tanh on top of the vectors while training, as in SimCSE; --no-projection leaves it out.
        length: Texts are cut to so many tokens in training.
        batch_size: Texts, pairs or triples per step: each one's negatives are the others'.
        epochs: How often the data is gone through; by default once unsupervised, otherwise 3 times.
        learning_rate: The highest learning rate; by default 3e-5 unsupervised and otherwise 5e-5, ten times that under 384 hidden units.
        least_score: Pairs of a task with scores: the least score of two texts that mean the same; by default four fifths of the highest.
        sentences: Unsupervised: split texts into sentences.
        positives: shuffled: each text's positive is that of another: the control for what any training does.
        keep: Which epoch's weights to keep: the last, or the best by the validation score; or a number of checkpoints along the training, as for finetune.
        keep_spacing: Of so many checkpoints: even, or logarithmic.
        seed: Decides the projection's first weights, the order, dropout, and how positives are shuffled.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def course(
    answers: ResultLike | Sequence[ResultLike],
    config: CourseConfig | None = None,
    *,
    steps: int | Sequence[int] = (),
    store: StoreLike | None = None,
) -> Result:
    """How did it come about?

    A question is asked of each checkpoint of a training, on the same texts; its numbers are lines over the steps.
    Where a number's change from the first checkpoint to the last is certain, its onset is told: the first checkpoint
    from which on it stays within a tenth of that change of where it ends, between which checkpoints that was, and a
    95% interval, by resamples of the texts that all checkpoints share. Questions that compare two models compare each
    checkpoint with the first; similarity with the last as well.

    Args:
        steps: The steps of all checkpoints, the first to the last. By default those in the names of the models' folders (checkpoint-N).
        store: The store in which the answer is looked for, and kept.
    """

def courses(
    courses: ResultLike | Sequence[ResultLike],
    config: CoursesConfig | None = None,
    *,
    names: str | Sequence[str] = (),
    store: StoreLike | None = None,
) -> Result:
    """Does it come about alike in every training?

    Each training of one recipe is a series of checkpoints; what a question finds along each is set side by side,
    at the same steps. The line over the steps is the mean over trainings, its band and the interval of the final
    change are Student's, over trainings: what another seed would do. Beside it when each training got to where it
    ended.

    Args:
        names: By default their numbers, 1, 2 ...
        store: The store in which the answer is looked for, and kept.
    """

def erase(
    model: ModelLike,
    examples: DataLike,
    config: EraseConfig | None = None,
    *,
    targets: str | Sequence[str] = ('pos',),
    task: str | None = None,
    layers: int | Sequence[int] = (),
    random: int = 5,
    like: Literal['rank', 'variance'] | Sequence[Literal['rank', 'variance']] = ('rank', 'variance'),
    words: int = 10000,
    texts: int = 200,
    types: int = 50,
    null: bool = False,
    repeats: int = 2000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Does the model use what a layer knows?

    At one layer after the other, all that a linear probe could read of a label is erased from the vectors of all
    words (LEACE), and the layers above go on from there. What that costs the fine-tuned model on its task, or the
    masked language model in its guesses, is compared with the cost of random subspaces of the same rank, and of such
    that have as much of the variance. A layer uses the label if erasing it raises the loss by more than random
    subspaces of either kind could (p < .05, Holm over the layers), and surely so on other texts.

    With --null: how often something is found where a random subspace of the same rank, or of the same rank and variance, is erased in the label's place; beside it the cost of random subspaces of the same rank, and of the same rank and variance.

    Args:
        targets: What to erase, each alone: pos, relation, frame, entity, gender, word (which of the most frequent).
        task: The task whose score is measured, for a model that was fine-tuned on it: what --on takes. A file's columns need usual names (text, label): --text and --label are those of --on.
        layers: After which layers, each alone; 0 is the embeddings' output. All, if none are named.
        random: Random subspaces of each kind that are erased instead, for each target and layer. Each costs on average half a pass through the model; a label is found to be used by how far it lies from them, which few tell less surely.
        like: What random subspaces have in common with what is erased. rank: nothing but the rank; variance: also about as much of the vectors' variance, of which a label mostly has more than a random subspace.
        words: At most so many words to learn from what to erase.
        texts: At most so many texts to measure the score or the loss on.
        types: Of the target `word`: how many of the most frequent words.
        null: Also erase a further random subspace of each kind, and let each play the label in turn: how often is it found to be used?
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Of the split of the texts, the random subspaces, the masked tokens, the probes and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def errors(
    model: ModelLike,
    task: DataLike,
    config: ErrorsConfig | None = None,
    *,
    training: ResultLike | None = None,
    words: bool = True,
    neighbours: int = 3,
    training_rows: int = 10000,
    rows: int = 20000,
    repeats: int = 2000,
    permutations: int = 1999,
    null: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Where does the model go wrong?

    The test set is predicted once. Precision, recall and F1 of each label have bootstrap intervals over examples.
    Calibration is that of what is predicted: 15 bins of equal mass, the expected calibration error beside what it is
    where calibration is perfect, and what the temperature does that fits the validation set. Slices of the rows
    (label, length, unknown pieces, truncated, a word, a column named with --slice) are compared with the other rows
    by Westfall and Young's max-T: corrected for all that were tried. The rows are listed, with the training rows that
    are most like them.

    With --null: how often something is found where the rows' correctness is permuted; beside it the slices' differences in the same model with random weights.

    Args:
        training: The folder of its training's result: how sure that was of the training rows that are most similar.
        words: Whether the slices of rows that have a word in common are tried, too: words in 2% to 50% of the texts.
        neighbours: How many training rows stand beside each row that are most like it by the last layer; 0 leaves them out, and saves a pass over the training rows.
        training_rows: Among how many training rows these are looked for at most.
        rows: How many test rows are listed at most; all are counted.
        repeats: Bootstrap resamples behind each interval, and draws of a calibrated model.
        permutations: Of the rows, behind the p-values of slices.
        null: Whether to show, too, how often slices are found where there are none, and what the slices' differences are in a model with random weights: one more pass.
        seed: Of the resampling, the permutations and random weights.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def explain(
    model: ModelLike,
    data: DataLike,
    config: ExplainConfig | None = None,
    *,
    other_seed: ModelLike | None = None,
    method: Literal['integrated', 'gradient', 'leave_out'] = 'integrated',
    towards: str = '',
    word: int = 0,
    words: Literal['entities', 'all'] = 'entities',
    sample: int = 100,
    nodes: int = 16,
    seed: int = 0,
    faithful: bool = False,
    corpus: bool = False,
    null: bool = False,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Which words made this prediction?

    Explained is what is predicted of each text: the label's logit minus the mean of the others', a tag's at its
    word, an answer's start plus its end, the cosine of two texts. Each word's attribution says how much it did for
    that, above or below 0, against the same text with every word masked. Integrated gradients add up to the
    difference between the two; predictions in which more than 1% of it is missing are counted.

    With --null: how often something is found where each text's attributions for a class have a random sign; beside it the same of random weights.

    Args:
        other_seed: A model of another training seed: with --faithful, how alike its attributions are.
        method: integrated: the gradient on the way from the text with every word masked to the text, times (word - [MASK]); gradient: the same at the text alone; leave_out: what is lost if one word is masked.
        towards: Explain this label (a tag, the number of a candidate, a piece of a masked word), whether it is predicted or not; by default what is predicted.
        word: Of models that say something of each word (tags, trees): explain what they say of this word alone, from 1.
        words: Of tags: explain those of words that are part of an entity, as the model says, or of all words.
        sample: Texts that are explained at most, by a hash of their ids.
        nodes: Of integrated gradients: points at which the gradient is taken first; twice as many, up to 512, where the words don't add up to what they should.
        seed: Decides which texts are explained, where there are more than the sample.
        faithful: Whether attributions are faithful: what a prediction loses without the words that they name, and with nothing but these, against random orders of the words; for all three methods. And how alike the attributions are to those of the same model with random weights. Some 200 passes for each text and way to take words away.
        corpus: Which words push each class, over all texts that are explained: those in 20 texts or more.
        null: How often corpus finds something where there is nothing to find, and the same of random weights.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def features(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: FeaturesConfig | None = None,
    *,
    features: str | Sequence[str] = ('noun', 'verb', 'adjective', 'pronoun', 'subject', 'object', 'negation'),
    weighted: bool = False,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """Which words draw attention, and which words attend to which?

    For each head: the attention that the strongest noun, verb, subject ... of a text receives, averaged over the
    texts that have one; what it receives beyond uniform attention, beside as many random words of the text; the same
    for the attention of [CLS] alone; and the attention from words of one kind to words of another. Several
    checkpoints are compared on the same texts.

    Args:
        features: Kinds of words: those of the default (used as far as the corpus tells them), pos:TAG (UPOS) or relation:NAME (UD). [CLS] and [SEP] (cls, sep) are always there.
        weighted: Weigh attention by the length of the vectors it moves (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def finetune(
    base: ModelLike,
    task: DataLike,
    config: FinetuneConfig | None = None,
    *,
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    warmup: float | None = None,
    weight_decay: float = 0.0,
    batch_size: int = 32,
    accumulate: int = 1,
    class_weights: Literal['none', 'balanced'] = 'none',
    clip: float = 1.0,
    init: Literal['pretrained', 'random'] = 'pretrained',
    keep: Literal['last', 'best'] | int = 'last',
    keep_spacing: Literal['even', 'logarithmic'] = 'even',
    patience: int | None = None,
    without: str = '',
    classifier: Literal['linear', 'relu'] = 'linear',
    pooler: bool = True,
    dropout: float | None = None,
    frozen: str = '',
    frozen_dropout: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    """Train an encoder on a task.

    A task head (a classifier or regressor, one for spans, a parser, a tagger) is put on a copy of `base`, and the
    whole of it is trained on the task's training set; what guesses masked words, and an encoder whose vectors are
    trained, are taken as they are. The validation set is scored after each epoch and the test set before and after.
    Layers can be left out before, or frozen. With `out`, a plain Hugging Face folder is written there, and a training
    that was killed goes on from its last epoch (`resume=False` starts over); with `keep=10` so many checkpoints
    along the training lie in it, each a folder of that kind. The result's array `outputs` has the tuned model's
    outputs for the test set, its table `rows` what is predicted of each row before and after. Where rows have one
    label, `row_probability` is the one that each training row's label had in each epoch, and from 5 epochs on there
    is a map of them.

    Args:
        recipe: Epochs, learning rate and warm-up where they aren't given. auto: 3e-4 under 384 hidden units, 1e-4 under 768, else 2e-5, after a warm-up of 10%, for 3 epochs (4 under 384) or as many as make 300 steps, at most 25; paper: 3 epochs, 2e-5 and none, as for bert-base; pocket: 4 epochs, 3e-4 and 10%.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate, from which it decays linearly to 0; by default what the recipe says.
        warmup: The share of all steps over which the learning rate rises; by default what the recipe says.
        weight_decay: AdamW's weight decay; biases and LayerNorm are spared.
        batch_size: Examples per batch; a step has one, unless `accumulate` says more.
        accumulate: Batches whose gradients are added up for one step (gradient accumulation): a step then has as many times more examples than fit into memory at once.
        class_weights: balanced: in the loss a rare label counts for more, as many times as it is rarer than if all were equally frequent. For one label a text or a word.
        clip: The largest gradient norm.
        init: random: draw all weights anew, as a control for what pre-training gave.
        keep: Which epoch's weights to keep: the last, or the best on the validation set. A number: beside the last epoch's so many checkpoints along the training, its start and its end among them: folders `checkpoint-STEP` in the model's, each a whole model.
        keep_spacing: Of so many checkpoints: even: equally many steps apart; logarithmic: the closer, the earlier, from the first step on.
        patience: Early stopping: end after so many epochs in a row that are no better on the validation set than the best, whose weights are kept.
        without: Layers left out before the training: `12`, `11-12`, `3,7-9`.
        classifier: linear: the family's own; relu: its last linear layer becomes two, with 50 hidden units and a ReLU between them.
        pooler: Whether the dense layer that the family has before its last one stays; --no-pooler takes it off, so that the last reads the first token's last state.
        dropout: The dropout before the classifier's last layer; by default the model's own.
        frozen: What isn't trained: `embeddings`, layers such as `1-8`, both as `embeddings,1-8`, or `encoder` for all that is under the pooler and the classifier.
        frozen_dropout: Whether frozen layers still have dropout while the others train. Without it, frozen layers that have nothing trained under them are run once, and every epoch reads what they put out.
        seed: Decides the new classifier's weights, the order of the examples, and dropout.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def forgetting(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: ForgettingConfig | None = None,
    *,
    pairs: PairsLike | None = None,
    task: DataLike | None = None,
    steps: int | Sequence[int] = (),
    probes: bool = True,
    rank: int = 32,
    words: int = 2000,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """What does fine-tuning forget on its way?

    The first model is the base, with its masked-word head; the others are checkpoints of a fine-tuning of it, in
    their order, or a series of them, through which the texts go once. Each guesses masked words of the texts by the
    base's head: as it is, where coordinates that drifted count as lost, too, and after an affine map of its last
    states to the base's, fitted on other texts. Only what is lost in spite of the map is forgotten. Beside it minimal
    pairs in the same two ways (`--pairs`), what probes find of trees and parts of speech where the texts have them,
    and the score of the task that is learnt (`--task`): one figure over the steps.

    Args:
        pairs: Minimal pairs to be told apart: demo/minimal, a file, BLiMP.
        task: The task that is learnt: its score beside what is forgotten.
        steps: After how many steps of the training each checkpoint was kept. By default as a series says, or they do.
        probes: Whether trees and parts of speech are probed, too, where the texts have them: most of the time goes there.
        rank: Of the probe of trees.
        words: Words that the probe of parts of speech is trained on, at most, and as many to test.
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Of the groups of texts, the probes and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def freeze(
    base: ModelLike,
    task: DataLike,
    config: FreezeConfig | None = None,
    *,
    sets: str | Sequence[str] = (),
    frozen_dropout: bool = False,
    movement: bool = True,
    texts: int = 200,
    words: int = 5000,
    seeds: int | Sequence[int] = (0,),
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """Which layers need training?

    The same fine-tuning with parts of the encoder frozen, from nothing to everything under the classifier: the
    score of each against training everything on the same seeds and examples, what the training takes in time and
    memory, and how far every layer's representation moved from the base's. `states` are those of the base and of each
    tuned model.

    Args:
        sets: What isn't trained, each in trainings of its own. A number is the embeddings and so many layers above them, 0 nothing; there is also `embeddings`, layers alone such as `5-8`, `embeddings+5-8`, and `encoder` for all under the pooler and the classifier. By default nothing, the embeddings, and with them a third, two thirds and all of the layers: 5 trainings for each seed. Nothing is always among them.
        frozen_dropout: Whether frozen layers have dropout in training. Without it, those with nothing trained under them are run once.
        movement: Also say how far each layer moved from the base, by RSA; --no-movement spares the hidden states.
        texts: How many texts of the test set RSA reads. Their hidden states are kept for every training.
        words: How many of their words RSA compares; all, if there are fewer.
        seeds: One set of trainings for each; 5 or more give intervals over trainings.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def geometry(
    models: StatesLike | Sequence[StatesLike],
    examples: DataLike,
    config: GeometryConfig | None = None,
    *,
    least: int = 5,
    words: int = 2000,
    top: int | None = None,
    sample: int = 2000,
    same: float | None = None,
    listed: int = 12,
    groups: int = 20,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """Is the space a cone, and how contextual are its words?

    By layer: the mean cosine of two random words (anisotropy), of two occurrences of a word (SelfSim), of a word
    with its text, and how much of a word's occurrences one direction explains (MEV); what is left of each beyond its
    baseline; the same after the top directions are removed and after every dimension is standardised. Effective rank
    and IsoScore, intrinsic dimension, alignment and uniformity of pairs, and the most and least contextual words. The
    result's arrays have each measure [checkpoint, layer, 1 + groups]: of all texts, and without each group.

    Args:
        least: Occurrences that a word type (a word in lower case) needs for SelfSim and MEV (the paper: five contexts).
        words: SelfSim and MEV are those of a corpus of so many words: a type counts with the chance that it has `least` occurrences among so many of the words. In a larger corpus ever rarer types have them, and the mean over all of these would move.
        top: How many top directions are removed, beside the mean; by default a hundredth of the dimensions, at least 1, as in Mu and Viswanath (2018).
        sample: Words for the intrinsic dimension, and texts for alignment and uniformity, by a hash.
        same: Of pairs of texts: the label of those that mean the same, or the least score. Known for MRPC, QQP and demo/paraphrase; four fifths of the highest score by default. Without it no alignment.
        listed: How many of the most and of the least contextual words are listed.
        groups: Groups of neighbouring texts, each left out in turn, behind the intervals.
        seed: Decides what is sampled, and the random occurrences behind the baseline of MEV.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def graft(
    base: ModelLike,
    model: ModelLike,
    task: DataLike,
    config: GraftConfig | None = None,
    *,
    units: Literal['layer', 'attention', 'mlp', 'head', 'kind', 'bottom_up', 'top_down'] | Sequence[Literal['layer', 'attention', 'mlp', 'head', 'kind', 'bottom_up', 'top_down']] = ('layer', 'attention', 'mlp', 'head', 'kind', 'bottom_up', 'top_down'),
    steps: int = 15,
    repeats: int = 2000,
    permutations: int = 9999,
    null: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """Where does what fine-tuning taught live?

    The tuned model's task head is kept throughout. *Enough*: tuned weights in one part and the base's elsewhere;
    *needed*: the reverse. The loss and the score of each are compared with those without the exchange on the same
    examples: a paired bootstrap interval and a paired permutation test, corrected by Holm's method, and the change as
    a share of all that lies between the base under the tuned task head and the tuned model. Beside it how far the
    part's weights moved, and the loss on the straight line from base to tuned.

    With --null: how often something is found where what fine-tuning changed in a layer is permuted within each tensor; beside it what that permuted change gives, as a column.

    Args:
        units: layer (each one), attention and mlp (of each layer), head (each one), kind (embeddings, all attention, all MLPs, all LayerNorms), bottom_up (embeddings and layers up to each), top_down (the layers from each on).
        steps: Steps on the straight line from base to tuned and half as far beyond.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value.
        null: Whether to show, too, what as much change of no meaning does in each layer: what fine-tuning changed, permuted within each tensor, 50 times.
        seed: Of the resampling and of permuted changes; nothing else is random.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def importance(
    model: ModelLike,
    task: DataLike,
    config: ImportanceConfig | None = None,
    *,
    form: Literal['example', 'token', 'cumulative'] = 'example',
    units: Literal['head', 'mlp', 'neuron'] | Sequence[Literal['head', 'mlp', 'neuron']] = ('head', 'mlp'),
    faithful: bool = True,
    mode: Literal['uniform', 'zero', 'mean', 'position', 'resample', 'optimal'] = 'zero',
    steps: int = 10,
    random: int = 3,
    batch_size: int = 32,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """How important is each head and MLP, by gradient?

    Each part has a gate, which multiplies what it puts out; its importance is the expected size of the loss's
    gradient at that gate, on the validation set. Whether that is to be believed: the rank correlation with what
    switching each part off alone does to loss and score, and the test set's score and loss when parts go one after
    the other, in the order of importance, of their effects alone, and at random. Each ranking has its reliability:
    would other texts have ranked the parts alike?

    Args:
        form: What is averaged. example: the size of each example's gradient at the gate, as the papers define it; token: the sum of the sizes of its tokens' gradients, as Michel's code has it; cumulative: what scripts find that never clear the gradient between batches, for comparison with old results.
        units: The kinds of parts: head, mlp, neuron (of the MLPs).
        faithful: Also switch heads and MLPs off, one at a time on the validation set, and one after the other on the test set: does the gradient rank them as their absence does? It takes far longer than the gradients.
        mode: What a head that is off leaves behind. zero: nothing, as the gate's gradient has it; uniform: equal attention to every token; of the validation set, mean: its average output; position: its average output at each place; resample: its output on another text, mean of 5 draws; optimal: the constants with which predictions move least, fitted for each set of parts. With uniform and zero an MLP leaves nothing, else as heads do.
        steps: In how many steps all parts of a kind go, one after the other.
        random: How many random orders stand beside the order of importance.
        batch_size: Examples in a batch of the cumulative form, which depends on it; the other forms don't.
        repeats: Bootstrap resamples behind each interval.
        seed: Of the random orders, the resampling and other texts (resample).
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def lottery(
    base: ModelLike,
    task: DataLike,
    config: LotteryConfig | None = None,
    *,
    methods: Literal['s', 'm'] | Sequence[Literal['s', 'm']] = ('s',),
    seeds: int | Sequence[int] = (0,),
    threshold: float = 0.9,
    rule: Literal['chance', 'paper'] = 'chance',
    share: float = 0.1,
    importance: Literal['example', 'token', 'cumulative'] = 'example',
    stop: Literal['paper', 'smallest', 'tested'] = 'paper',
    super_survivors: bool = True,
    patterns: bool = True,
    hans: str | None = None,
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    keep_models: bool = False,
    force: bool = False,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """How small a subnetwork still does the task, and does it train again?

    A fine-tuned model is pruned for as long as it keeps its score on the validation set. What survives (good), as
    many parts drawn at random, and as many of what was pruned (bad) are scored as they are and after training them
    again from the pretrained weights; the same for every seed.

    Args:
        methods: s: whole heads and MLPs are pruned; m: single weights, by magnitude.
        seeds: One fine-tuning, one pruning and one set of tickets for each; 5 or more give intervals over trainings.
        threshold: The share of the full model's score that a subnetwork must keep.
        rule: What the share is of. chance: of the score above a constant answer's; paper: of the plain score.
        share: How much goes in a step: s: of all heads, and one MLP; m: of the weights that remain.
        importance: s: how importance is measured; see `importance`.
        stop: Which mask is kept: the last before the first that fails, the smallest that passes, or the last that is above the threshold for certain; see `prune`.
        super_survivors: Also train what survived with every seed, against parts that never survived and random ones (s; 2 seeds or more).
        patterns: Also say which attention patterns the surviving heads have, by raw and by norm-weighted attention (s).
        hans: Tasks of entailment: also score every subnetwork on HANS: `hans` (the hub), or the folder with its file. It is part of every retraining's step: asked for later, they run again.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        keep_models: Keep every retrained subnetwork, in its step's folder.
        force: Go on where the full model isn't clearly above chance.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def masked_words(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: MaskedWordsConfig | None = None,
    *,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """How well does the model guess masked words?

    15% of each text's words are masked, the same ones for every model, and their pieces are guessed: the share of
    pieces that are guessed, and how many bits the right one takes. Nothing is trained, and no labels are needed: a
    task of masked words (`--kind masked`) is scored alike on its test set. Another tokenizer cuts words into other
    pieces: of two models, compare those that share one.

    Args:
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling; which words are masked, the texts themselves decide.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def minimal_pairs(
    models: ModelLike | Sequence[ModelLike],
    pairs: PairsLike,
    config: MinimalPairsConfig | None = None,
    *,
    rows: int = 2000,
    repeats: int = 2000,
    null: bool = False,
    seed: int = 0,
    clean: str | None = None,
    corrupted: str | None = None,
    clean_pair: str | None = None,
    corrupted_pair: str | None = None,
    phenomenon: str | None = None,
    only: str | Sequence[str] = (),
    swap: str | Sequence[str] = (),
    text: str | None = None,
    text_pair: str | None = None,
    split: Literal['train', 'validation', 'test', 'published-train', 'published-dev', 'published-test'] = 'test',
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Is the good text of a pair the likelier one?

    A text's pseudo-log-likelihood is the sum over its pieces of log p, the piece and the later pieces of its word
    being masked (PLL-word-l2r). A pair counts 1 where the good, or clean, text has the higher one, and one half where
    both are equal: the share over pairs, by phenomenon, is tested against one half by the exact sign test, corrected
    over phenomena (Holm). A further model without a masked-word head of its own is read by that of the first: as it
    is (its coordinates may have drifted), and after an affine map from its last states to the first model's, ridge on
    other texts. Only what is lost in spite of the map counts as forgotten.

    With --null: how often something is found where the good and the bad text of each pair are exchanged at random (for changes: the two models' answers); beside it how often random weights prefer the good text, as a column and a number.

    Args:
        rows: How many pairs are listed at most; all are counted.
        repeats: Bootstrap resamples behind the interval of each change.
        null: Whether to show, too, how often the tests find something where good and bad are exchanged at random, and what random weights prefer.
        seed: Of the resampling, of the groups of texts that maps are fitted on, and of random weights.
        clean: The column with the clean, or good, text of each pair; guessed from its name otherwise.
        corrupted: The column with the corrupted, or bad, one.
        clean_pair: The column with the second text of the clean one, for models that read two; of both, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text of the corrupted one.
        phenomenon: The column that says what each pair is about; guessed otherwise, of BLiMP `linguistics_term`.
        only: Read the pairs of these phenomena alone.
        swap: Make pairs of ordinary texts by exchanging words: a file with a pair of words such as she/he on each line, pairs themselves, or gender.
        text: With --swap: the column with the text; guessed otherwise.
        text_pair: With --swap: the column with the second text.
        split: Which split of a demo language, or with --swap of a task, is read.
        limit: Use at most this many pairs, the phenomena in about the same shares.
        root: With --swap: the folder in which a task known by name lies; from the hub otherwise.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        data_seed: Decides which pairs a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def mislabelled(
    base: ModelLike,
    task: DataLike,
    config: MislabelledConfig | None = None,
    *,
    folds: int = 5,
    flip: float = 0.05,
    seed: int = 0,
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int = 5,
    learning_rate: float | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """Which training labels may be wrong?

    Each training row's label is judged by a training that hasn't seen it (K folds). A label is doubted where
    another one has its usual probability, or more, and is the likeliest of those that have (confident learning). To
    see what that is worth, the same is done with 5% of the labels exchanged at random: how many of these are found,
    at which precision, beside what drawing as many rows of each label at random would find. Where that is no more
    than chance, no label is doubted. Beside it, the mean p(label) while a row is trained on: that costs one
    training.

    Args:
        folds: In how many parts the training rows are divided; what is said of a part comes from a training on the others.
        flip: The share of the training labels that are exchanged on purpose, to see how many of them are found.
        seed: Decides the trainings, and which labels are exchanged.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; a row's course over epochs needs 5 or more.
        learning_rate: The highest learning rate; by default what the recipe says.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def overlap(
    lotteries: ResultLike | Sequence[ResultLike],
    config: OverlapConfig | None = None,
    *,
    store: StoreLike | None = None,
) -> Result:
    """Do lotteries find the same heads?

    What survived structured pruning with each seed of each lottery is compared, pair by pair: what two masks
    share, of what either has (Jaccard), within a task and between tasks, beside what two random sets of these sizes
    would.

    Args:
        store: The store in which the answer is looked for, and kept.
    """

def patch(
    model: ModelLike,
    pairs: PairsLike,
    config: PatchConfig | None = None,
    *,
    units: Literal['layer', 'heads', 'mlp', 'head', 'head_at'] | Sequence[Literal['layer', 'heads', 'mlp', 'head', 'head_at']] = ('layer', 'heads', 'mlp', 'head', 'head_at'),
    directions: Literal['denoise', 'noise'] | Sequence[Literal['denoise', 'noise']] = ('denoise', 'noise'),
    exact: Literal['auto', 'all', 'sample', 'none'] = 'auto',
    sample: int = 200,
    repeats: int = 2000,
    permutations: int = 9999,
    null: bool = False,
    seed: int = 0,
    clean: str | None = None,
    corrupted: str | None = None,
    clean_pair: str | None = None,
    corrupted_pair: str | None = None,
    phenomenon: str | None = None,
    only: str | Sequence[str] = (),
    swap: str | Sequence[str] = (),
    text: str | None = None,
    text_pair: str | None = None,
    split: Literal['train', 'validation', 'test', 'published-train', 'published-dev', 'published-test'] = 'test',
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Which activation carries the difference between two texts?

    Pairs of texts of equally many tokens that the model answers differently are run, and one text's run gets one
    activation of the other's: what a layer, a head or an MLP puts out, at all tokens or at those of a role (those
    that differ, those before and after them, [CLS], [SEP]). Measured is the logit of the clean text's answer minus
    that of the corrupted one's; the share is how far it moves from the one run to the other, as a ratio of means over
    pairs with a bootstrap interval. p is of the pair's own text against a text of an unrelated pair, of the same
    length, that is answered as the patched text is: exchanged pair by pair, corrected by Holm's method. Beside it
    what all activations would do by the gradient, plain and averaged over 5 points between the texts.

    With --null: how often something is found where the texts that give activations are both of unrelated pairs, with the same answer and of the same length; beside it what a text of an unrelated pair gives that is answered as the pair's own, and the same of random weights.

    Args:
        units: layer (each layer's output at the tokens of each role), heads (all heads of a layer, at all tokens), mlp (each MLP's output, at all tokens), head (each head's output, at all tokens), head_at (the same at the tokens of each role).
        directions: denoise: the corrupted text with an activation of the clean one; noise: the reverse.
        exact: Which activations are patched one by one, rather than by the gradient alone. auto: all of a kind, or 48 where its activations times the pairs are more than 30,000; all; sample: 48 of each kind, from large to small by the gradient; none.
        sample: Pairs that are patched at most, of those that can be, by a hash of their ids.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value.
        null: Whether to show, too, how often the tests find something where there is nothing, what a text of another pair with the same answer gives, and what the same activations carry in a model with random weights: about twice the work.
        seed: Of the resampling, of which pairs, activations and unrelated texts are drawn, and of random weights.
        clean: The column with the clean, or good, text of each pair; guessed from its name otherwise.
        corrupted: The column with the corrupted, or bad, one.
        clean_pair: The column with the second text of the clean one, for models that read two; of both, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text of the corrupted one.
        phenomenon: The column that says what each pair is about; guessed otherwise, of BLiMP `linguistics_term`.
        only: Read the pairs of these phenomena alone.
        swap: Make pairs of ordinary texts by exchanging words: a file with a pair of words such as she/he on each line, pairs themselves, or gender.
        text: With --swap: the column with the text; guessed otherwise.
        text_pair: With --swap: the column with the second text.
        split: Which split of a demo language, or with --swap of a task, is read.
        limit: Use at most this many pairs, the phenomena in about the same shares.
        root: With --swap: the folder in which a task known by name lies; from the hub otherwise.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        data_seed: Decides which pairs a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def patterns(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: PatternsConfig | None = None,
    *,
    labels: str | Path | None = None,
    weighted: bool = False,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """What shape is each head's attention?

    The mass of every map, of every head on every example, is divided into columns that most queries share, a band
    along the diagonal, what a text gets evenly (block), and the rest. Beside it each map is called vertical,
    diagonal, vertical+diagonal, block or heterogeneous, by classifiers trained on people's labels; the ranges of
    these shares hold the classifiers' error, or, with --labels, are corrected by labels of your own. Given are both
    by model, layer and head; each head's commonest class and how constant it is; the entropy of its attention, how
    far it looks, and how much of it goes to [CLS] and [SEP]. Several checkpoints are read side by side.

    Args:
        labels: Labels that you gave to random maps of the model (train-patterns --label): its class shares are then corrected by them.
        weighted: Take attention times the length of the vector it moves (Kobayashi et al. 2020) instead of attention alone.
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def pretrain(
    texts: str | Path | Sequence[str | Path],
    config: PretrainConfig | None = None,
    *,
    start: ModelLike | None = None,
    teacher: ModelLike | None = None,
    init: Literal['pretrained', 'random'] = 'pretrained',
    layers: int | None = None,
    heads: int | None = None,
    units: int | None = None,
    vocabulary: int | None = None,
    cased: bool = False,
    positions: int | None = None,
    length: int = 128,
    short_share: float = 0.25,
    long_share: float = 0.1,
    masking: Literal['words', 'pieces'] = 'words',
    mask_rate: float = 0.15,
    next_sentence: bool = False,
    teacher_weight: float = 5.0,
    minutes: float | None = None,
    steps: int | None = None,
    batch_tokens: int | None = None,
    learning_rate: float | None = None,
    warmup: float | None = None,
    weight_decay: float = 0.01,
    dropout: float = 0.1,
    held_out: float = 0.01,
    keep: Literal['none', 'log', 'even'] = 'none',
    checkpoints: int = 12,
    half: bool = False,
    compiled: bool = False,
    seed: int = 0,
    store: StoreLike | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    """Learn a language from plain text.

    A WordPiece vocabulary is learnt from the texts, a BERT is drawn at random, and it learns to guess masked
    words: in half precision by recorded steps on a GPU, in single precision elsewhere. Files are plain text, also .gz
    or .xz, or patterns of them in quotes; blank lines part documents, some of which are held out and scored. The
    learning rate rises, and falls to 0 when the budget ends. With `out`, a plain Hugging Face folder is written
    there. A teacher reads all of the text once, unmasked, before; a linear map of the pupil's last states, which
    isn't kept, is to say what the teacher's are. With a model to start from nothing is drawn: it goes on
    learning, from these texts and with its own vocabulary. A pre-training that was killed goes on from its last
    point of the curve.

    Args:
        start: A BERT to go on from, with its vocabulary, shape and weights.
        teacher: A larger encoder whose last states of each word are learnt, too.
        init: With a model to start from. random: take its vocabulary and shape alone, and draw all weights.
        layers: Layers of the encoder; by default 6. With a model to start from, this and what follows up to `positions` is that model's.
        heads: Heads of a layer; by default one for every 32 units.
        units: Hidden units, by default 256; a layer's MLP has four times as many.
        vocabulary: Pieces of the vocabulary that is learnt from the text; by default 8,192 under 256 units, 16,384 under 512, else 30,000, or as many as the text gives.
        cased: Tell capitals from small letters, and keep accents; otherwise both are taken off, as BERT's uncased ones do.
        positions: The longest text that the model will read, in tokens; by default 512, or as many as the model to start from has, which can be given more.
        length: Tokens of most rows.
        short_share: The share of the steps whose rows have about a quarter as many tokens, and begin with a sentence where one is near, as do the short texts that a model is asked about later. Of rows under 32 tokens there are none.
        long_share: The share of the steps whose rows have as many tokens as there are positions, so that all of these are learnt.
        masking: words: all pieces of a masked word are masked; pieces: each for itself.
        mask_rate: The share of a row's pieces that is masked.
        next_sentence: Also learn whether the second part of a row follows the first, or is from elsewhere (as BERT; RoBERTa has it not).
        teacher_weight: With a teacher: what its states count for beside the loss of a masked piece; they are scaled to variance 1.
        minutes: The budget in minutes of training, scoring and keeping included; the text is read before.
        steps: The budget in steps; by default as many as go 10 times through the text.
        batch_tokens: Tokens of a step; by default as many as make 200 steps of the text, but 4,096 to 131,072.
        learning_rate: The highest learning rate, from which it decays linearly to 0; by default 0.3 over the units, 1.2e-3 for 256, and a third of that for a model that has learnt before. Deep models learn nothing at too high a one, and at too low a one don't see how words belong together for a long time.
        warmup: The share of the budget over which the learning rate rises; by default a tenth, or of few steps as much as makes 300, at most 0.3.
        weight_decay: AdamW's weight decay; biases and LayerNorm are spared.
        dropout: Dropout while pre-training; the model that is written has 0.1, for fine-tuning.
        held_out: The share of documents that are held out, and scored.
        keep: Which checkpoints to keep in the model's folder, as `checkpoint-N`, each a model: none; by equal factors of steps (log), so that the beginning is seen; or by equal steps (even). The first is before any step, the last is the model.
        checkpoints: How many checkpoints are kept.
        half: Write weights in half precision (float16): half the size.
        compiled: On a GPU, compile the layers before the first step (torch.compile): worth its minute where many follow.
        seed: Decides the first weights, the order of the rows, masks and dropout.
        store: The store in which the answer is looked for, and kept.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def probe(
    models: StatesLike | Sequence[StatesLike],
    examples: DataLike,
    config: ProbeConfig | None = None,
    *,
    targets: str | Sequence[str] = (),
    probes: Literal['linear', 'mlp'] | Sequence[Literal['linear', 'mlp']] = ('linear', 'mlp'),
    hidden: int = 64,
    words: int = 4000,
    balanced: bool = False,
    types: int = 50,
    bins: int = 5,
    code: bool = True,
    expected: bool = True,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """What else does a layer know?

    Probes learn to read a label (part of speech, relation, frame, entity, gender, the task's label, length, word)
    off the vectors of each layer of each checkpoint. Beside their accuracy on other texts stand the majority's, that
    of the word's usual label, and that of a control task in which every word has a random label: what a probe learns
    by heart. The length of an online code says how easily the label is read; the expected layer where it comes
    from.

    Args:
        targets: What to read off the vectors: pos, relation (of a word and its head), frame, entity, gender, label, length (of the text), word (which of the most frequent); all that the corpus has, if none are named.
        probes: linear: one map and a softmax; mlp: one hidden layer before it. The first also makes the code, reads the mixes of layers and is drawn.
        hidden: Units of the hidden layer.
        words: At most so many words (pairs, texts) to train probes on and as many to test, an eighth for validation; by a hash.
        balanced: Where there are more words than that, drop those of frequent labels first.
        types: Of the target `word`: how many of the most frequent words.
        bins: Of the target `length`: groups of texts, of about equal size.
        code: Measure the length of an online code of the labels (minimum description length).
        expected: Measure the expected layer, by mixes of layers 0 to l.
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Of the split of the texts, the words that are drawn, the control task, the probes and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def project(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: ProjectConfig | None = None,
    *,
    example: str = '1',
    method: Literal['pca', 'joint', 'umap'] = 'pca',
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """How do a sentence's tokens travel through the layers?

    The vectors of all tokens of one text, special ones included, in two dimensions, a layer at a time, with the
    share of the variance that the plane has. The texts of a pair and a question's answers have their colours. Several
    checkpoints stand side by side.

    Args:
        example: The text: its id, or its number in the data, from 1.
        method: pca: each layer by itself, turned onto the layer below; joint: one plane for the tokens of all layers; umap: the same by UMAP, where it is installed.
        seed: Of UMAP; PCA has nothing random in it.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def prune(
    model: ModelLike,
    task: DataLike,
    config: PruneConfig | None = None,
    *,
    ranking: ResultLike | None = None,
    method: Literal['s', 'm'] = 's',
    threshold: float = 0.9,
    rule: Literal['chance', 'paper'] = 'chance',
    share: float = 0.1,
    importance: Literal['example', 'token', 'cumulative'] = 'example',
    stop: Literal['paper', 'smallest', 'tested'] = 'paper',
    force: bool = False,
    order: Literal['recomputed', 'gradient', 'loss', 'kl', 'integrated', 'random'] = 'recomputed',
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Pruned:
    """How small a part of a fine-tuned model still does its task?

    Step by step parts are pruned, without training in between, for as long as the validation set's score stays
    above the threshold; the last mask that passed is kept, and scored on the test set. What is left has an interval:
    where other rows of the validation set would have stopped, on the same path. Every step is written to `out`, so
    that a run that was killed goes on.

    Args:
        ranking: The folder of a stored result that ranks the model's heads and MLPs (ablate, circuit, graft, importance ...): parts go in its order.
        method: s: whole heads and MLPs, the least important first; m: single weights, the smallest first.
        threshold: The share of the full model's score that must remain.
        rule: What the share is of. chance: of the score above a constant answer's; paper: of the plain score, which on a weak model lets a constant answer pass.
        share: How much goes in a step: s: of all heads, and one MLP; m: of the weights that remain.
        importance: s: how importance is measured; see `importance`.
        stop: Which mask is kept. paper: the last one before the first that fails; smallest: the smallest that passes, though larger ones fail; tested: a mask passes if it is above the threshold for certain (one-sided test at .05).
        force: Go on where the full model isn't clearly above chance.
        order: s: in what order parts go. recomputed: by importance, measured again after each step, as the paper has it; gradient: the same measured once, on the full model; loss, kl, integrated: once, as in `circuit`, each part leaving nothing; random. --ranking takes the order from a stored result instead.
        seed: Of the random order.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def readout(
    model: ModelLike,
    task: DataLike,
    config: ReadoutConfig | None = None,
    *,
    fit: int = 5000,
    controls: bool = True,
    share: float = 0.9,
    close: float = 0.25,
    rows: int = 20000,
    repeats: int = 2000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """In which layer is the answer there?

    The states of each layer, from the embeddings (0) on, are given to the model's own task head, pooler and last
    norm included, in the last layer's place: plainly, and through a linear shortcut, the ridge regression from the
    layer's states to the last ones on the training set, whose penalty is chosen on the validation set. The score and
    the loss on the test set are compared with the final ones on the same texts, with paired bootstrap intervals. A
    text settles in the first layer from which on the final prediction stays.

    Args:
        fit: Training texts that the shortcuts are fitted on, at most, and validation texts that choose their penalty; drawn by their ids. 0 leaves the shortcuts out.
        controls: Whether to read, too, through shortcuts that were fitted to permuted last states, and from a model with random weights: a further pass over all of these texts.
        share: How much of the final score's lead over chance a layer must have for the answer to be there, and how many of the texts must have settled for most to have.
        close: Of scores: how near to the final one counts as the same, in standard deviations of the final ones.
        rows: How many test rows are listed at most; all are counted.
        repeats: Bootstrap resamples behind each interval.
        seed: Of the resampling, the texts and tokens that are drawn, the permutation and random weights.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def redundancy(
    models: ModelLike | Sequence[ModelLike],
    data: DataLike,
    config: RedundancyConfig | None = None,
    *,
    queries: int = 1,
    tokens: int = 2000,
    clusters: int = 0,
    pairs: int = 10,
    together: str | Sequence[str] = (),
    mode: Literal['uniform', 'zero', 'mean'] = 'uniform',
    weighted: bool = False,
    null: bool = False,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """How different are the heads from each other?

    For all pairs of heads: the Jensen-Shannon divergence of their attention and the linear CKA of their outputs,
    on the test set's texts. From the divergence: groups of heads, a map of them, and whether heads of one layer are
    alike. Where the data is a task and the model answers it, the most similar pairs are switched off
    together: if both cost more than each alone adds up to, one may do what the other could. That is told by the score
    and by the loss, which sees what no prediction shows; each pair's interaction is tested by the loss (Holm).

    With --null: how often something is found where both sides of each comparison are exchanged at random: of a pair, both or no heads off with one head off, text by text; similar pairs with their random partners; the whole model with the named heads off, text by text; the named heads with a random set; beside it the same of the same model with random weights.

    Args:
        queries: Tokens of each text, chosen at random, whose attention is compared between all pairs of heads. Each costs about a tenth of a pass through a small model and estimates the same mean; 0 is every token.
        tokens: Tokens of the whole corpus, chosen at random, on which the heads' outputs are compared (CKA).
        clusters: How many groups of heads; 0 takes the number that fits best (silhouette).
        pairs: How many of the most similar pairs are listed and, if the model answers the task, switched off together; as many random pairs of the same layers stand beside them. Each costs up to three passes through the model.
        together: Heads to switch off together, such as head:3.4, against random sets of as many heads of the same layers: are they redundant, or is what they do not needed? Needs a model that answers the task.
        mode: What a head that is off leaves behind: equal attention to every token, nothing, or its average output.
        weighted: Norm-weighted attention: attention times the length of the vector it moves, so that looking at a token and taking nothing from it doesn't count (Kobayashi et al. 2020).
        null: Also test, 200 times, what the test set would look like if heads that are off together did nothing beyond what they do alone, and switch the same heads off in the same model with random weights.
        repeats: Bootstrap resamples behind each interval.
        seed: Decides which tokens are taken, which random pairs, and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def relations(
    models: ModelLike | Sequence[ModelLike],
    examples: DataLike,
    config: RelationsConfig | None = None,
    *,
    validation_share: float = 0.5,
    least: int = 20,
    subtypes: bool = False,
    core: bool = True,
    weighted: bool = False,
    repeats: int = 1000,
    seed: int = 0,
    null: bool = False,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """Which heads link words that stand in a relation?

    A head finds a pair of words if one of them attends to the other more than to any other word. For each relation
    of a treebank or of own annotation, one half of the sentences chooses the best head and direction, and the best
    fixed offset ("the word before"); the other half scores both. Each head's attention in pairs, beyond what uniform
    attention gives, is compared with that in control pairs: the same distance, parts of speech and numbers of pieces.
    The same from frames' elements to what evokes the frame, beside the score of Dark Secrets.

    With --null: how often something is found where pairs and their controls, and the best heads' and offsets' hits, are exchanged at random; beside it the same model's differences with random weights.

    Args:
        validation_share: The share of the sentences that choose head, direction and offset; the others score them.
        least: Relations with fewer pairs to score are listed, not tested.
        subtypes: Keep nsubj:pass apart from nsubj, and so on.
        core: Of frames, the core elements only.
        weighted: Weigh attention by the length of the vectors it moves (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Of the split, the control pairs and the resampling.
        null: Also ask where there is nothing to find, and of random weights.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def scratch(
    base: ModelLike,
    task: DataLike,
    config: ScratchConfig | None = None,
    *,
    seeds: int | Sequence[int] = (0,),
    patterns: bool = True,
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """What does pretraining give?

    The same architecture, task and training: from the pretrained weights and from random ones, as a whole and with
    the encoder frozen; beside the pretrained encoder before any training and two baselines that need no encoder. With
    the attention patterns of each.

    Args:
        seeds: One training of each kind for each; 5 or more give intervals over trainings.
        patterns: Also say which attention patterns each of the encoders has (of the first seed).
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def sentences(
    model: ModelLike,
    task: DataLike,
    config: SentencesConfig | None = None,
    *,
    least_score: float | None = None,
    sample: int = 2000,
    groups: int = 20,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Are the vectors of texts alike where their meanings are?

    Nothing is trained. Each text of the test set's pairs is read alone; its vector is the first token's, or the
    mean of its tokens', and of a sentence-transformers model its own in the last layer. By
    layer: how the cosine of two texts follows their score (Spearman), how near texts are that mean the same
    (alignment), and how evenly all lie (uniformity).

    Args:
        least_score: The least score of two texts that mean the same, for alignment; by default four fifths of the highest.
        sample: Texts for alignment and uniformity, by a hash.
        groups: Groups of neighbouring pairs, each left out in turn, behind the intervals of alignment and uniformity.
        repeats: Bootstrap resamples behind the interval of each Spearman.
        seed: Decides what is sampled, and the resamples.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def shrink(
    model: ModelLike,
    task: DataLike,
    config: ShrinkConfig | None = None,
    *,
    pruned: ResultLike | None = None,
    target: str | None = None,
    batch: int = 32,
    shape: Literal['free', 'plain'] = 'free',
    retrain: bool = True,
    distill: bool = False,
    temperature: float = 2.0,
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    step: float = 0.0625,
    rows: int = 512,
    curve: bool = False,
    onnx: bool = True,
    timed_on: Literal['same', 'cpu'] = 'same',
    force: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Shrunk:
    """Cut a model down to what its task needs.

    Heads, MLPs, neurons and layers go, the least needed for what they save first, by the validation set; what is
    left is trained again. Beside it stands what needs no search and no training, the whole model in int8, and both at
    once; which of the three to take is decided on the validation set. `pruned` is a stored answer of `prune`: what it
    pruned is gone from the start. With `out`, the cut model is written there, for bertscope, for onnxruntime and,
    where its shape allows it, for plain transformers, and the whole one in int8 where that is the one to take; with a
    card that says which that is, what was cut, what it cost and what it answers otherwise.

    Args:
        pruned: The folder of a stored prune, or lottery: what it pruned is cut before anything else.
        target: 2x: so many times as fast, measured on this machine; 50%: so much of the blocks' parameters is left; '1 point': at most 0.01 of the metric is lost on the validation set. By default 2x, or what --pruned leaves.
        batch: How many texts go through the model at a time where speed counts: heads and neurons speed up many at once, a single text gains most by losing whole layers.
        shape: plain: only cuts that transformers can open without this package: whole layers, and as many neurons in each.
        retrain: Train what is left on the training set; --no-retrain only cuts.
        distill: Train it on what the whole model says, too, not on the labels alone.
        temperature: How much distillation softens probabilities.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        step: How much of the model's cost goes before it is asked anew what it can do without.
        rows: How many rows of the validation set the search looks at.
        curve: Also cut to other sizes, and try what else one could do: remove the top layers, prune single weights, train the whole model on. Each is trained like the cut model, which takes its time.
        onnx: Write ONNX files, in float32 and int8, and compare them; --no-onnx leaves them out.
        timed_on: Where speed is measured: on the device that the model is on, or on the CPU though it is trained on a GPU.
        force: Go on where the whole model isn't clearly above chance.
        seed: Of the training, and of the rows and texts that are drawn.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def similarity(
    models: StatesLike | Sequence[StatesLike],
    examples: DataLike,
    config: SimilarityConfig | None = None,
    *,
    against: DataLike | None = None,
    words: int = 5000,
    pairs: Literal['first', 'all'] = 'first',
    grid: bool = True,
    groups: int = 20,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
) -> Result:
    """How far did each layer's representation move?

    The same sampled words in every checkpoint and layer: RSA (the correlation of the cosines between all words
    here with those there), linear CKA (debiased, and plain beside it) and the Procrustes distance, which no rotation
    changes, beside the plain cosine, which any rotation does. By layer, for every two layers, and as more words are
    taken. Of one checkpoint: how its layers differ.
    `against` is a second corpus, where the change may be another; from Python, states that are stores already need
    `against_states` beside it, theirs of that corpus.

    Args:
        against: Other data to ask the same of: is it the same out of the domain?
        words: How many words, sampled by a hash of the text's id and the word's place; all, if there are fewer.
        pairs: first: each checkpoint is compared with the first; all: each two are.
        grid: Compare every layer with every other too, within and between checkpoints. Most of the time goes there.
        groups: Groups of neighbouring texts, each left out in turn, behind the intervals.
        seed: Decides which words are sampled; nothing else is random.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
    """

def states(
    model: ModelLike,
    examples: DataLike,
    config: StatesConfig | None = None,
    *,
    pool: Literal['word', 'token', 'cls', 'mean'] = 'word',
    init: Literal['pretrained', 'random'] = 'pretrained',
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
    shards: int | str | None = None,
    workers: int = 0,
    out: str | Path | None = None,
    resume: bool = True,
) -> States:
    """Keep the hidden states of a corpus.

    One pass of the encoder; every layer's vectors go to a memory-mapped array that `similarity`, `structure`,
    `probe`, `project` and `geometry` read, so that none of them runs the encoder again.

    Args:
        pool: word: the mean of a word's pieces; token: each token that isn't special; cls: the first token; mean: the mean of an example's tokens, special ones excepted.
        init: random: draw all weights anew first, as a control for what pre-training gave.
        seed: Of the random weights; nothing else is random.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
        shards: Read the texts in so many parts, or such large ones, each a step, and add them up.
        workers: Processes of this machine that make these steps; 0 is this one.
        out: The folder to write to.
        resume: Whether to go on from what was left unfinished there.
    """

def structure(
    models: StatesLike | Sequence[StatesLike],
    examples: DataLike,
    config: StructureConfig | None = None,
    *,
    train: DataLike | None = None,
    ranks: int | Sequence[int] = (64,),
    control: bool = True,
    random: bool = True,
    epochs: int = 40,
    batch_size: int = 20,
    learning_rate: float = 0.001,
    show: str | Sequence[str] = (),
    sentences: int = 4,
    repeats: int = 1000,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """Does a layer hold the syntax tree?

    Linear maps are trained under which squared distances between words are their distances in the dependency tree,
    and squared lengths their depths: one of each for every layer of every checkpoint, all at once. They are scored on
    other sentences, beside a chain of words, random weights and random trees. `train` is another corpus to train on;
    without it one corpus is split in three. From Python, states that are stores already must include the random
    model's, and `train_states` holds theirs of `train`.

    Args:
        train: Other data to train on; --on is then scored whole. By default --on is split.
        ranks: The probes' ranks, all trained together. In the paper, ranks above 64 add less than half a point of UUAS. A rank above a model's width is its width.
        control: Also train the best layer's probes on random trees of the same shapes: what a probe finds where nothing is.
        random: Also probe the first model with random weights: what its architecture and the words alone give.
        epochs: The most epochs; a probe stops after 5 without a gain on the validation sentences.
        batch_size: Sentences per step.
        learning_rate: Adam's at the start; it falls to a tenth after each epoch without a gain.
        show: The ids of scored sentences whose trees are drawn.
        sentences: How many trees are drawn if none are named: short ones, chosen by a hash of their ids.
        repeats: Bootstrap resamples behind each interval.
        seed: Decides the split, the probes' first weights, the order of the sentences, the random trees, the random model's weights and the resampling.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """

def truncate(
    base: ModelLike,
    task: DataLike,
    config: TruncateConfig | None = None,
    *,
    remove: str | Sequence[str] = (),
    retrain: bool = True,
    cross: bool = False,
    classifiers: Literal['linear', 'relu'] | Sequence[Literal['linear', 'relu']] = ('linear',),
    dropouts: str | Sequence[str] = ('own',),
    poolers: Literal['kept', 'off'] | Sequence[Literal['kept', 'off']] = ('kept',),
    seeds: int | Sequence[int] = (0,),
    recipe: Literal['auto', 'paper', 'pocket'] = 'auto',
    epochs: int | None = None,
    learning_rate: float | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
) -> Result:
    """Are the top layers needed?

    Layers leave the model, the top ones or any others, and what is left is fine-tuned like the whole; or they
    leave the fine-tuned whole. The score of each against the whole on the same seeds and examples, the time of its
    training and of a prediction, its size. Crossed with the classifier on top, the dropout before it and the pooler,
    it says which of these changes matters.

    Args:
        remove: How many layers go from the top, such as `0,1,2,6`, or which ones, such as `4-6` or `2+9`; `all` is every number of them. By default none, 1, 2 and half of them: 4 trainings for each seed. The whole model is always among them.
        retrain: Fine-tune what is left, from the base; --no-retrain takes the layers off the fine-tuned whole model instead: 1 training for each seed.
        cross: The slides' three changes, each with and without the others: the top layer, the classifier (linear, relu), the dropout before it (the model's own, 0). Other flags widen it. 8 trainings for each seed.
        classifiers: Which classifiers are tried: linear, relu (50 hidden units).
        dropouts: Which dropouts before the classifier are tried: numbers, or own for the model's.
        poolers: Whether the layer between the encoder and the classifier is kept, taken off, or both are tried.
        seeds: One set of trainings for each; 5 or more give intervals over trainings.
        recipe: How to train where the rest isn't given: auto by width and rows; paper and pocket as for finetune.
        epochs: How often the training set is gone through; by default what the recipe says.
        learning_rate: The highest learning rate; by default what the recipe says.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
    """

def versus(
    a: ModelLike,
    b: ModelLike,
    task: DataLike,
    config: VersusConfig | None = None,
    *,
    words: bool = True,
    repeats: int = 2000,
    permutations: int = 9999,
    null: bool = False,
    seed: int = 0,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    choices: str | None = None,
    several: str | None = None,
    id: str | None = None,
    kind: Literal['classification', 'regression', 'several', 'choices', 'spans', 'trees', 'tokens', 'masked', 'vectors'] | None = None,
    slice: str | Sequence[str] = (),
    limit: int | None = None,
    root: str | Path | None = None,
    skip_bad: bool = False,
    metric: Literal['accuracy', 'f1', 'macro_f1', 'matthews', 'pearson', 'micro_f1', 'token_f1', 'exact_match', 'las', 'uas', 'las_no_punct', 'uas_no_punct', 'entity_f1', 'strict_entity_f1', 'entity_precision', 'entity_recall', 'word_accuracy'] | None = None,
    windows: int = 0,
    label_threshold: float | None = None,
    data_seed: int = 0,
    store: StoreLike | None = None,
    tokenizer: TokenizerLike | None = None,
    base: str | Path | None = None,
) -> Result:
    """What does another model fix and break?

    Both models answer the test set, and each row is fixed, broken, right in both or wrong in both. Whether more is
    fixed than broken is tested exactly (McNemar's test); of metrics that are no share of rows, and of the loss, by
    exchanging the two models' answers row by row. Recall, precision and F1 of each label stand side by side, with
    paired intervals, corrected over labels (Holm); slices of the rows in which more changes than elsewhere are looked
    for (max-T, corrected for all that are tried). Beside it how far the two agree beyond chance, and the calibration
    of both. A model is a folder, a hub id or an ONNX file: a model and its cut, pruned or int8 self, two seeds, two
    models of one label set.

    With --null: how often something is found where the answers of A and B are exchanged row by row at random (for slices: the rows' changes are permuted); beside it what an answer without reading would fix and break of A's rows.

    Args:
        words: Whether rows are also looked at by the words that they hold: those in 2% to 50% of the texts.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random exchanges of the two models' answers behind each p-value that isn't exact, and permutations of the rows behind those of slices.
        null: Whether to show, too, how often the tests find something where there is nothing, and what an answer without reading would fix and break.
        seed: Of the resampling and the exchanges; the models' answers have nothing random in them.
        text: The column with the text; guessed from its name otherwise.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score; of several labels a text that have a column each: all of them, with commas between them.
        choices: Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between.
        several: What stands between the labels of a text that can have several, such as '|'; lists say it by themselves.
        id: The column with what rows are called, each by another name; their file and line otherwise.
        kind: What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which texts alone are read, and vectors one of scored pairs for models that embed texts.
        slice: Further columns to read: `errors` and `versus` ask whether rows that have something in common there are another matter than the others.
        limit: Use at most this many rows of each split.
        root: The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The metric that decides; the task's own otherwise.
        windows: Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average what the model says of them; 0 truncates them.
        label_threshold: Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise.
        data_seed: Decides how one file is split, which rows a limit keeps, and what a demo language says.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """
