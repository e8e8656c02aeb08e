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
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
        without: Leave the rows that mention one of these words out of train and validation.
        at_random: With `without`: instead leave out as many random rows of each label; this is the seed that draws them.
        flip: Give this share of the training rows another label, drawn at random: to see who finds them again.
        flip_seed: With `flip`: seed of which rows these are, and which labels they get.
        fold: Which fold of how many, such as (1, 5): that part of the training rows is held out, and becomes the test set.
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
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
        without: Leave the rows that mention one of these words out of train and validation.
        at_random: With `without`: instead leave out as many random rows of each label; this is the seed that draws them.
        flip: Give this share of the training rows another label, drawn at random: to see who finds them again.
        flip_seed: With `flip`: seed of which rows these are, and which labels they get.
        fold: Which fold of how many, such as (1, 5): that part of the training rows is held out, and becomes the test set.
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
        clean: The column with the clean, or good, text of each pair; by default guessed from the column names.
        corrupted: The column with the corrupted, or bad, text.
        clean_pair: The column with the second text beside the clean one, for models that read two; also used beside the corrupted one, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text beside the corrupted one.
        phenomenon: The column that says what each pair is about; by default guessed, for BLiMP `linguistics_term`.
        only: Read only the pairs of these phenomena.
        swap: Make pairs from ordinary texts by exchanging words: give a file with a pair such as she/he on each line, the pairs themselves, or gender.
        text: With --swap: the column with the text; by default guessed.
        text_pair: With --swap: the column with the second text.
        split: Which split is read, of a demo language or, with --swap, of a task.
        limit: Use at most this many pairs, with the phenomena in about the same shares.
        root: With --swap: the folder that holds a task known by name; by default it comes from the hub.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        seed: Seed of which pairs a limit keeps, and which sentences a demo language makes.
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
    compared with those of the whole model: the same examples, a paired bootstrap interval, and a paired test
    (McNemar's for accuracy, by permutation otherwise) corrected for the number of parts of that kind (Holm). Also
    given: how far predictions move and how many flip, which of them flip without which part, and how reliable each
    ranking of parts is. Where the score's reliability is under .5, the loss is told first.

    With --null: how often something is found where whole and ablated outputs are exchanged row by row at random; to compare, the same of random weights, and what a random part of the same rank and norm costs in a head's place.

    Args:
        units: The kinds of parts to switch off: head (each one), heads (all of a layer), mlp, layer (skipped whole).
        sets: Parts to switch off together, each set with a name: top=head:12.1+head:12.2 both=mlp:3+mlp:4.
        mode: What a head that is off leaves behind. uniform: equal attention to every token, as in Dark Secrets; zero: nothing, as in Michel et al. From the validation set, mean: its average output; position: its average output at each position; resample: its output on another text, mean of 5 draws (5 times the work); optimal: the constant with which predictions move least (some 10 times the work). With uniform and zero an MLP leaves nothing, otherwise the same as heads; a layer that is off passes its input on.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value; accuracy's is exact and needs none, except with mode resample.
        null: Also report how often the tests find something where there is nothing to find, what the parts cost in a model with random weights, and what random parts cost in the heads' place. About ten times the work.
        seed: Seed of the resampling, the random weights, the random parts and the other texts (resample); the model's predictions have nothing random in them otherwise.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Rows that mention certain words are left out of the training data; the test set stays as it is. Compared with
    training on all rows, that is the effect of the cut; compared with a random cut of the same size and labels, it
    is the effect of its words. Both are given for all test rows, for those with the words (slice) and for the rest;
    beside them, how often the answer changes when words of gender are exchanged.

    Args:
        words: Rows that mention one of these words (whole words, in either text) are left out of train and validation; by default English words for women.
        seeds: Run three trainings for each seed: on all rows, without the words, and without as many random rows; 5 or more give intervals over trainings.
        swap: Words to exchange in the test texts, such as she/he, to see whether the answer changes. By default English words of gender.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    tokens, and the Jensen-Shannon divergence of each query's attention; by head, by layer, and how much of the
    change is in the last two layers. Also from which shape to which the maps changed (see `patterns`).

    Args:
        weighted: Norm-weighted attention: multiply attention by the length of the vector it moves (Kobayashi et al. 2020), so that looking at a token and taking nothing from it doesn't count.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling; nothing else is random.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The first look, in one pass over the test set: the score beside a constant answer's and what can be had
    without an encoder (a bag of words, looking words up), paired on the same rows; test rows that training has
    seen, and the score without them; rows with the same text and different labels; texts that are longer than the
    model reads; pieces that its tokenizer doesn't know; and how many pieces it cuts a word into.

    Args:
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Parts are ranked on the validation set, in several ways; stored results that rank them can be added. By each
    ranking the best k are kept and the rest is off: the test set's score, and how far predictions are from the
    whole model's (KL), over k. The area under each curve has a paired bootstrap interval and stands beside that of
    random orders. The smallest circuit is the one from which on the validation set's score stays within a tenth of
    the skill above chance; the test set then says whether it is as good as the whole model.

    Args:
        rankings: Folders of stored results that rank the model's heads or MLPs (ablate, graft, importance, patch ...), to follow their orders too.
        units: What to rank: head (the MLPs stay on), mlp (the heads stay on), both (heads and MLPs together).
        by: How parts are ranked on the validation set. loss, kl: what the part's absence alone does to the loss, and to predictions; gradient: the size of the loss's gradient at its gate, as in `importance`; integrated: that gradient with its sign, over gates that open together from 0 to 1.
        mode: What a part that is off leaves behind. From the validation set, mean: its average output; optimal: constants fitted for each set of parts so that predictions move least; position: its average output at each position. zero: nothing; uniform: a head attends equally to every token, and an MLP leaves nothing.
        steps: In how many steps the number of kept parts goes from none to all.
        random: How many random orders to compare the rankings with.
        nodes: For integrated: at how many points between 0 and 1 the gradient is taken; twice and four times as many if the sum misses more than 1% of what it should be.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the random orders and the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Each claim is a statement about one number. It holds if the number's whole 95% interval is on the claimed
    side, fails if all of it is on the other, and is underpowered otherwise, or if there is no interval. A claim
    decided by an interval over texts of one fine-tuned model is decided for this training only. Each claim also
    says what must be so for a number to be evidence, such as which model was made from which; that is checked
    first.

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

    An encoder is trained to find each text's positive among those of a batch. Measured before and after: how
    alike two random words are in each layer, and how fast that grows with depth; how contextual words are; how well
    the cosine of two texts follows their score; alignment and uniformity. The same training with shuffled positives
    is the control.

    Args:
        pairs: What belongs together. unsupervised: two dropout views of a text; pairs: two texts of which the second means the same, or follows; triples: a premise, what follows from it and what contradicts it.
        temperature: The softmax temperature: cosines are divided by it.
        pool: A text's vector in the last layer: the first token's (cls), or the mean of its tokens' without the special ones.
        projection: Train with a linear map and tanh on top of the vectors, as in SimCSE; --no-projection leaves it out.
        length: Texts are cut to this many tokens in training.
        batch_size: Texts, pairs or triples per step; the others in the batch are each one's negatives.
        epochs: Passes over the data; by default 1 for unsupervised, else 3.
        learning_rate: The peak learning rate; by default 3e-5 for unsupervised, else 5e-5, and ten times that under 384 hidden units.
        least_score: For pairs of a task with scores: the lowest score at which two texts count as meaning the same; by default four fifths of the highest score.
        sentences: For unsupervised: split texts into sentences.
        sts: Pairs of texts with scores: cosines are compared with the scores of its test set, and with those of its validation set during training. glue/stsb@FOLDER, or your own folder or file, whose columns need usual names (text1, text2, score): --text, --text-pair and --label belong to --on.
        corpus: Texts on which the geometry is measured: a task, a treebank or a text file; by default the 500 sentences of demo/corpus's validation set.
        control: Also train with shuffled positives, to see whether the contrast does it or any training; --no-control leaves it out.
        seeds: Run one training (and one of the control) for each seed; 5 or more give intervals over trainings.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    with `sts`, a task of pairs with scores, the training is scored by how well cosines follow the scores of its
    validation set. With `out`, a plain Hugging Face encoder is written there, and a training that was killed
    continues from its last epoch.

    Args:
        pairs: What belongs together. unsupervised: two dropout views of a text; pairs: two texts of which the second means the same, or follows; triples: a premise, what follows from it and what contradicts it.
        temperature: The softmax temperature: cosines are divided by it.
        pool: A text's vector in the last layer: the first token's (cls), or the mean of its tokens' without the special ones.
        projection: Train with a linear map and tanh on top of the vectors, as in SimCSE; --no-projection leaves it out.
        length: Texts are cut to this many tokens in training.
        batch_size: Texts, pairs or triples per step; the others in the batch are each one's negatives.
        epochs: Passes over the data; by default 1 for unsupervised, else 3.
        learning_rate: The peak learning rate; by default 3e-5 for unsupervised, else 5e-5, and ten times that under 384 hidden units.
        least_score: For pairs of a task with scores: the lowest score at which two texts count as meaning the same; by default four fifths of the highest score.
        sentences: For unsupervised: split texts into sentences.
        positives: shuffled: each text gets another text's positive, as a control for what any training does.
        keep: Which epoch's weights to keep: the last, or the best by the validation score (never epoch 0, before any training); or a number of checkpoints along the training, as for finetune.
        keep_spacing: With a number for --keep: even, or logarithmic.
        seed: Seed of the projection's first weights, the order, dropout, and how positives are shuffled.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    """When in the training did it come about?

    A question is asked of each checkpoint of a training, on the same texts; its numbers become lines over the
    steps. Where a number's change from the first checkpoint to the last is certain, its onset is told: the first
    checkpoint from which on the number stays near where it ends (within a tenth of that change), between which
    checkpoints that was, and a 95% interval, by resamples of the texts that all checkpoints share. Questions that
    compare two models compare each checkpoint with the first; similarity with the last as well. What begins or ends
    so with a model beside itself is an effect size, which has an onset but isn't tested for a change.

    Args:
        steps: The training steps of all checkpoints, from the first to the last. By default taken from the names of the models' folders (checkpoint-N).
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
    at the same steps. The line over the steps is the mean over trainings; its band and the interval of the final
    change are Student's, over trainings: what another seed would do. They need five trainings; of fewer, means are
    points and nothing is tested. Also given: when each training reached its final value.

    Args:
        names: Names for the trainings; by default their numbers, 1, 2 ...
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

    At one layer after the other, everything that a linear probe could read of a label is erased from the vectors
    of all words (LEACE), and the layers above continue from there. What that costs the fine-tuned model on its
    task, or the masked language model in its guesses, is compared with the cost of random subspaces of the same
    rank, and of others that also have as much of the variance. A layer uses the label if erasing it raises the loss
    by more than random subspaces of either kind could (p < .05, Holm over the layers), and surely so on other
    texts.

    With --null: how often something is found where a random subspace of the same rank, or of the same rank and variance, is erased in the label's place; to compare, the cost of random subspaces of the same rank, and of the same rank and variance.

    Args:
        targets: What to erase, each alone: pos, relation, frame, entity, gender, word (which of the most frequent).
        task: The task whose score is measured, for a model that was fine-tuned on it; takes what --on takes. A file's columns need usual names (text, label): --text and --label belong to --on.
        layers: After which layers to erase, each alone; 0 is the embeddings' output. By default all.
        random: Random subspaces of each kind to erase instead, for each target and layer. Each costs on average half a pass through the model. A label counts as used if it lies far enough from them, which is less certain with few.
        like: What random subspaces have in common with what is erased. rank: only the rank; variance: also about as much of the vectors' variance, of which a label usually has more than a random subspace.
        words: At most this many words to learn from what to erase.
        texts: At most this many texts to measure the score or the loss on.
        types: For the target `word`: how many of the most frequent words.
        null: Also erase one more random subspace of each kind, and let each play the label in turn: how often is it found to be used? Costs as much as one more --random.
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Seed of the split of the texts, the random subspaces, the masked tokens, the probes and the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The test set is predicted once. Precision, recall and F1 of each label have bootstrap intervals over
    examples. Calibration is that of the prediction: 15 bins of equal mass, the expected calibration error beside
    its value under perfect calibration, and the effect of the temperature that fits the validation set. Slices of
    the rows (label, length, unknown pieces, truncated, a word, a column named with --slice) are compared with the
    other rows by Westfall and Young's max-T, corrected for all that were tried. The rows are listed, each with the
    training rows that are most like it.

    With --null: how often something is found where the rows' correctness is permuted; to compare, the slices' differences in the same model with random weights.

    Args:
        training: The folder of the model's finetune result, to also show how sure it was of similar training rows.
        words: Also try the slices of rows that share a word: words in 2% to 50% of the texts.
        neighbours: How many training rows to show beside each row, the most similar by the last layer; 0 leaves them out, and saves a pass over the training rows.
        training_rows: At most this many training rows are searched for these.
        rows: How many test rows to list, at most; all are counted.
        repeats: Bootstrap resamples behind each interval, and draws of a calibrated model.
        permutations: Permutations of the rows behind the p-values of slices.
        null: Also report how often slices are found where there are none, and how much slices differ in a model with random weights: one more pass.
        seed: Seed of the resampling, the permutations and the random weights.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    For each text, what is predicted is explained: the label's logit minus the mean of the others', a tag's at
    its word, an answer's start plus its end, or the cosine of two texts. Each word's attribution says how much it
    did for that, above or below 0, compared with the same text with every word masked. Integrated gradients add up
    to the difference between the two; predictions in which more than 1% of it is missing are counted.

    With --null: how often something is found where each text's attributions for a class have a random sign; to compare, the same of random weights.

    Args:
        other_seed: A model of another training seed: --faithful also compares its attributions.
        method: integrated: the gradient on the way from the text with every word masked to the text itself, times (word - [MASK]); gradient: the same at the text alone; leave_out: what is lost if one word is masked.
        towards: Explain this label (a tag, the number of a candidate, a piece of a masked word), whether predicted or not; by default what is predicted.
        word: For models that predict something for each word (tags, trees): explain the prediction for this word alone, counted from 1.
        words: For tags: explain only words that the model takes for part of an entity, or all words.
        sample: At most this many texts are explained, chosen by a hash of their ids.
        nodes: For integrated: points at which the gradient is taken first; twice as many, up to 512, if the words don't add up to what they should.
        seed: Seed of which texts are explained, if there are more than the sample; and of the random orders, weights and signs that --faithful and --null compare with.
        faithful: Also test whether attributions are faithful: how much a prediction loses without the words that they name, and with only these, against random orders of the words; for all three methods. And how alike the attributions are to those of the same model with random weights. Some 200 passes for each text and way to take words away.
        corpus: Also report which words push each class, over all texts that are explained: words in 20 texts or more.
        null: Also report how often --corpus finds something where there is nothing to find, and the same with random weights: explains the texts once more.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    texts that have one; how much of it is beyond uniform attention, beside as many random words of the text; the
    same for the attention of [CLS] alone; and the attention from words of one kind to words of another. Several
    checkpoints are compared on the same texts.

    Args:
        features: Kinds of words: those of the default (as far as the corpus marks them), pos:TAG (UPOS) or relation:NAME (UD). [CLS] and [SEP] (cls, sep) are always included.
        weighted: Multiply attention by the length of the vector it moves (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    head_rate: float | None = None,
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

    A task head (a classifier or regressor, a head for spans, a parser, a tagger) is put on a copy of `base`, and
    all of it is trained on the task's training set; a model that guesses masked words, or an encoder whose vectors
    are trained, is taken as it is. The validation set is scored after each epoch, and the test set before and after
    the training. Layers can be left out first, or frozen. With `out`, a plain Hugging Face folder is written there,
    and a training that was killed continues from its last epoch (`resume=False` starts over); with `keep=10` it
    also holds that many checkpoints along the training, each a folder of that kind. The result's array `outputs`
    has the tuned model's outputs for the test set, its table `rows` the prediction for each row before and after.
    Where rows have one label, `row_probability` has the probability of each training row's label in each epoch, and
    from 5 epochs on there is a map of these rows.

    Args:
        recipe: Where epochs, learning rate and warm-up come from if they aren't given. auto: 3e-4 under 384 hidden units, 1e-4 under 768, else 2e-5, after a warm-up of 10%, for 3 epochs (4 under 384) or as many as make 300 steps, at most 25; paper: 3 epochs, 2e-5 and no warm-up, as for bert-base; pocket: 4 epochs, 3e-4 and 10%, and a new head learns ten times as fast.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate, from which it decays linearly to 0; by default the recipe's.
        warmup: The share of all steps over which the learning rate rises; by default the recipe's.
        head_rate: The learning rate of what is on top of the encoder (pooler, classifier, tagger, parser), as a multiple of the encoder's; by default the recipe's: 10 with pocket, 1 with the others. Where steps are few, a small encoder learns tags far better with 10.
        weight_decay: AdamW's weight decay; biases and LayerNorm have none.
        batch_size: Examples per batch; a step is one batch unless --accumulate is set.
        accumulate: Gradient accumulation: add up the gradients of this many batches for one step, for steps of more examples than fit into memory at once.
        class_weights: balanced: rare labels count for more in the loss, each by how much rarer it is than if all labels were equally frequent. For one label a text or a word.
        clip: Gradients are clipped to this norm.
        init: random: draw all weights anew, as a control for what pre-training gives.
        keep: Which epoch's weights to keep: the last, or the best on the validation set, of equals the first; epoch 0, before any training, is never the best. A number: the last epoch's, and that many checkpoints along the training, its start and its end included, as folders `checkpoint-STEP` in the model's folder, each a whole model.
        keep_spacing: With a number for --keep. even: equally many steps between checkpoints; logarithmic: closer together early in the training, from the first step on.
        patience: Early stopping: end after this many epochs in a row without a new best on the validation set, counted from epoch 1 on, and keep the best epoch's weights.
        without: Layers to leave out before the training: `12`, `11-12`, `3,7-9`.
        classifier: linear: the family's own; relu: its last linear layer becomes two, with 50 hidden units and a ReLU between.
        pooler: Keep the dense layer that the family has before its last one; --no-pooler removes it, so that the last layer reads the first token's final state.
        dropout: The dropout before the classifier's last layer; by default the model's own.
        frozen: What not to train: `embeddings`, layers such as `1-8`, both as `embeddings,1-8`, or `encoder` for everything below the pooler and the classifier.
        frozen_dropout: Keep dropout in frozen layers while the others train. Without it, frozen layers that have nothing trained below them run once, and every epoch reuses their outputs.
        seed: Seed of the new classifier's weights, the order of the examples, and dropout.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The first model is the base, with its masked-word head; the others are checkpoints of its fine-tuning, in
    their order, or a series of them, which the texts go through once. Each guesses masked words of the texts with
    the base's head: as it is, so that drifted coordinates count as lost too, and after an affine map from its last
    states to the base's, fitted on other texts. Only what is lost in spite of the map is forgotten. Also given:
    minimal pairs in the same two ways (`--pairs`), what probes find of trees and parts of speech if the texts have
    them, and the score of the task that is learnt (`--task`); all in one figure over the steps.

    Args:
        pairs: Also score minimal pairs: demo/minimal, a file, BLiMP.
        task: The task that is learnt, to show its score beside what is forgotten.
        steps: The training step at which each checkpoint was kept. By default as the series or the checkpoints say.
        probes: Also probe trees and parts of speech, if the texts have them; this takes most of the time.
        rank: Rank of the probe of trees.
        words: At most this many words to train the probe of parts of speech on, and as many to test.
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Seed of the groups of texts, the probes and the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The same fine-tuning with parts of the encoder frozen, from nothing to everything below the classifier: each
    one's score against training everything on the same seeds and examples, the time and memory of the training, and
    how far every layer's representation moved from the base's. `states` are those of the base and of each tuned
    model.

    Args:
        sets: What not to train; each gets its own trainings. A number means the embeddings and that many layers above them, 0 nothing; also `embeddings`, layers alone such as `5-8`, `embeddings+5-8`, and `encoder` for everything below the pooler and the classifier. By default nothing, the embeddings, and the embeddings with a third, two thirds and all of the layers: 5 trainings for each seed. Nothing is always among them.
        frozen_dropout: Keep dropout in frozen layers. Without it, frozen layers that have nothing trained below them run only once.
        movement: Also report how far each layer moved from the base, by RSA; --no-movement saves the hidden states.
        texts: How many texts of the test set RSA reads. Their hidden states are kept for every training.
        words: How many of these texts' words RSA compares, at most.
        seeds: Run one set of trainings for each seed; 5 or more give intervals over trainings.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    with its text, and how much of a word's occurrences one direction explains (MEV); what is left of each beyond
    its baseline; the same after the top directions are removed and after every dimension is standardised. Also
    effective rank and IsoScore, intrinsic dimension, alignment and uniformity of pairs, and the most and least
    contextual words. The result's arrays have each measure [checkpoint, layer, 1 + groups]: over all texts, and
    without each group.

    Args:
        least: Occurrences that a word type (a word in lower case) needs for SelfSim and MEV (the paper: five contexts).
        words: SelfSim and MEV are computed as for a corpus of this many words: a type counts with the chance that it has --least occurrences in such a sample. In a larger corpus ever rarer types would count, and the mean would move.
        top: How many top directions to remove, beside the mean; by default a hundredth of the dimensions, at least 1, as in Mu and Viswanath (2018).
        sample: Words for the intrinsic dimension, and texts for alignment and uniformity, chosen by a hash.
        same: For pairs of texts: the label of those that mean the same, or the lowest score at which they do. By default known for MRPC, QQP and demo/paraphrase, and for scores four fifths of the highest. Without it there is no alignment.
        listed: How many of the most and of the least contextual words to list.
        groups: The intervals come from this many groups of neighbouring texts, each left out in turn.
        seed: Seed of what is sampled, and of the random occurrences behind the baseline of MEV.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    examples: a paired bootstrap interval and a paired permutation test, corrected by Holm's method, and the change
    as a share of the difference between the base under the tuned task head and the tuned model. Also given: how far
    the part's weights moved, and the loss on the straight line from base to tuned.

    With --null: how often something is found where what fine-tuning changed in a layer is permuted within each tensor; to compare, what that permuted change gives, as a column.

    Args:
        units: What to exchange: layer (each one), attention and mlp (of each layer), head (each one), kind (embeddings, all attention, all MLPs, all LayerNorms), bottom_up (embeddings and the layers up to each), top_down (the layers from each on).
        steps: Steps along the straight line from base to tuned, and half as far beyond.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value.
        null: Also measure what a meaningless change of the same size does in each layer: fine-tuning's change, permuted within each tensor, 50 times. Costs 50 more passes for each layer.
        seed: Seed of the resampling and the permuted changes; nothing else is random.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Each part has a gate, which multiplies its output; its importance is the expected size of the loss's gradient
    at that gate, on the validation set. Whether that can be believed is tested: by the rank correlation with what
    switching each part off alone does to loss and score, and by the test set's score and loss when parts are
    switched off one after the other, in the order of importance, of their effects alone, and at random. Each
    ranking has its reliability: would other texts have ranked the parts alike?

    Args:
        form: What is averaged. example: the size of each example's gradient at the gate, as the papers define it; token: the sum of the sizes of its tokens' gradients, as in Michel's code; cumulative: what scripts get that never clear the gradient between batches, to compare with old results.
        units: The kinds of parts: head, mlp, neuron (of the MLPs).
        faithful: Also switch heads and MLPs off, one at a time on the validation set, and one after the other on the test set, to see whether the gradient ranks them as their absence does. This takes far longer than the gradients.
        mode: What a head that is off leaves behind. zero: nothing, as the gate's gradient assumes; uniform: equal attention to every token. From the validation set, mean: its average output; position: its average output at each position; resample: its output on another text, mean of 5 draws; optimal: constants fitted for each set of parts so that predictions move least. With uniform and zero an MLP leaves nothing, otherwise the same as heads.
        steps: In how many steps all parts of a kind are switched off, one after the other.
        random: How many random orders to compare the order of importance with.
        batch_size: Batch size for the cumulative form, which depends on it; the other forms don't.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the random orders, the resampling and the other texts (resample).
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    A fine-tuned model is pruned for as long as it keeps its score on the validation set. What survives (good),
    as many parts drawn at random, and as many of the pruned parts (bad) are scored as they are, and again after
    training them from the pretrained weights; the same for every seed.

    Args:
        methods: s: prune whole heads and MLPs; m: prune single weights, by magnitude.
        seeds: Run one fine-tuning, one pruning and one set of tickets for each seed; 5 or more give intervals over trainings.
        threshold: The share of the full model's score that a subnetwork must keep.
        rule: What --threshold is a share of. chance: the score above a constant answer's; paper: the plain score.
        share: How much is pruned per step. s: this share of all heads, and one MLP; m: this share of the remaining weights.
        importance: For s: how importance is measured; see `importance`.
        stop: Which mask to keep: the last before the first that fails (paper), the smallest that passes, or the last that is above the threshold for certain (tested); see `prune`.
        super_survivors: Also train what survived with every seed, against parts that never survived and random ones (for s, with 2 seeds or more).
        patterns: Also report which attention patterns the surviving heads have, by raw and by norm-weighted attention (for s).
        hans: For entailment tasks: also score every subnetwork on HANS, given as `hans` (the hub) or the folder with its file. It is part of every retraining's step: if you ask for it later, they run again.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        keep_models: Keep every retrained subnetwork, in its step's folder.
        force: Continue even if the full model isn't clearly above chance.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    15% of each text's words are masked, the same ones for every model, and the model guesses their pieces: the
    share of pieces that it guesses, and how many bits the right one takes. Nothing is trained, and no labels are
    needed: a task of masked words (`--kind masked`) is scored in the same way on its test set. Another tokenizer
    cuts words into other pieces: only compare models that share one.

    Args:
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling; which words are masked depends on the texts alone.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    A text's pseudo-log-likelihood is the sum over its pieces of log p, with the piece and the later pieces of
    its word masked (PLL-word-l2r). A pair counts 1 if the good, or clean, text has the higher one, and one half if
    both are equal: the share over pairs, by phenomenon, is tested against one half by the exact sign test,
    corrected over phenomena (Holm). A further model without a masked-word head of its own is read with the first
    model's head: as it is (its coordinates may have drifted), and after an affine map from its last states to the
    first model's, ridge on other texts. Only what is lost in spite of the map counts as forgotten.

    With --null: how often something is found where the good and the bad text of each pair are exchanged at random (for changes: the two models' answers); to compare, how often random weights prefer the good text, as a column and a number.

    Args:
        rows: How many pairs to list, at most; all are counted.
        repeats: Bootstrap resamples behind the interval of each change.
        null: Also report how often the tests find something if good and bad are exchanged at random, and what a model with random weights prefers, which scores the pairs once more.
        seed: Seed of the resampling, the groups of texts that maps are fitted on, and the random weights.
        clean: The column with the clean, or good, text of each pair; by default guessed from the column names.
        corrupted: The column with the corrupted, or bad, text.
        clean_pair: The column with the second text beside the clean one, for models that read two; also used beside the corrupted one, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text beside the corrupted one.
        phenomenon: The column that says what each pair is about; by default guessed, for BLiMP `linguistics_term`.
        only: Read only the pairs of these phenomena.
        swap: Make pairs from ordinary texts by exchanging words: give a file with a pair such as she/he on each line, the pairs themselves, or gender.
        text: With --swap: the column with the text; by default guessed.
        text_pair: With --swap: the column with the second text.
        split: Which split is read, of a demo language or, with --swap, of a task.
        limit: Use at most this many pairs, with the phenomena in about the same shares.
        root: With --swap: the folder that holds a task known by name; by default it comes from the hub.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        data_seed: Seed of which pairs a limit keeps, and which sentences a demo language makes.
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

    Each training row's label is judged by a training that hasn't seen the row (K folds). A label is doubted if
    another label has at least its usual probability, and is the likeliest of those that do (confident learning). To
    see what that is worth, the same is done with a share of the labels (--flip) exchanged at random: how many of
    these are found, at which precision, beside what drawing as many rows of each label at random would find. If that
    is no more than chance, no label is doubted. Beside it, the mean p(label) while a row is trained on, which costs
    one training.

    Args:
        folds: Into how many parts the training rows are divided; each part is judged by a training on the others.
        flip: The share of the training labels that is exchanged on purpose, to see how many of them are found.
        seed: Seed of the trainings, and of which labels are exchanged.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; a row's course over epochs needs 5 or more.
        learning_rate: The peak learning rate; by default the recipe's.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    What survived structured pruning with each seed of each lottery is compared, pair by pair: the share of their
    union that two masks have in common (Jaccard), within a task and between tasks, beside what two random sets of
    these sizes would share.

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

    Pairs of texts are used that have equally many tokens and that the model answers differently. One text is run
    with one activation taken from the other's run: what a layer, a head or an MLP puts out, at all tokens or at
    those of a role (those that differ, those before and after them, [CLS], [SEP]). Measured is the logit of the
    clean text's answer minus that of the corrupted one's; the share is how far it moves from the one run to the
    other, as a ratio of means over pairs with a bootstrap interval. p compares the pair's own text with a text of
    an unrelated pair that has the same length and is answered as the patched text is: exchanged pair by pair,
    corrected by Holm's method. Also given: what all activations would do by the gradient, plain and averaged over 5
    points between the texts.

    With --null: how often something is found where the texts that give activations are both of unrelated pairs, with the same answer and of the same length; to compare, what a text of an unrelated pair gives that is answered as the pair's own, and the same of random weights.

    Args:
        units: Which activations to patch: layer (each layer's output at the tokens of each role), heads (all heads of a layer, at all tokens), mlp (each MLP's output, at all tokens), head (each head's output, at all tokens), head_at (the same at the tokens of each role).
        directions: denoise: the corrupted text with one activation of the clean one; noise: the reverse.
        exact: Which activations are patched one by one, rather than by the gradient alone. auto: all of a kind, or 48 if its activations times the pairs are more than 30,000; all; sample: 48 of each kind, from large to small by the gradient; none.
        sample: At most this many pairs are patched, of those that can be, chosen by a hash of their ids.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random swaps behind each p-value.
        null: Also report how often the tests find something where there is nothing to find, what a text of another pair with the same answer gives, and what the same activations carry in a model with random weights. About twice the work.
        seed: Seed of the resampling, of which pairs, activations and unrelated texts are drawn, and of the random weights.
        clean: The column with the clean, or good, text of each pair; by default guessed from the column names.
        corrupted: The column with the corrupted, or bad, text.
        clean_pair: The column with the second text beside the clean one, for models that read two; also used beside the corrupted one, unless --corrupted-pair names another.
        corrupted_pair: The column with the second text beside the corrupted one.
        phenomenon: The column that says what each pair is about; by default guessed, for BLiMP `linguistics_term`.
        only: Read only the pairs of these phenomena.
        swap: Make pairs from ordinary texts by exchanging words: give a file with a pair such as she/he on each line, the pairs themselves, or gender.
        text: With --swap: the column with the text; by default guessed.
        text_pair: With --swap: the column with the second text.
        split: Which split is read, of a demo language or, with --swap, of a task.
        limit: Use at most this many pairs, with the phenomena in about the same shares.
        root: With --swap: the folder that holds a task known by name; by default it comes from the hub.
        skip_bad: Leave out pairs that can't be used, and count them, instead of stopping at the first.
        data_seed: Seed of which pairs a limit keeps, and which sentences a demo language makes.
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

    The mass of every attention map, of every head on every example, is divided into columns that most queries
    share, a band along the diagonal, what a text gets evenly (block), and the rest. Each map is also called
    vertical, diagonal, vertical+diagonal, block or heterogeneous, by classifiers trained on people's labels; the
    ranges of these shares include the classifiers' error or, with --labels, are corrected by your own labels. Both
    are given by model, layer and head; so are each head's commonest class and how constant it is, the entropy of
    its attention, how far it looks, and how much of it goes to [CLS] and [SEP]. Several checkpoints are read side
    by side.

    Args:
        labels: Labels that you gave to random maps of the model (train-patterns --label), which correct its class shares.
        weighted: Multiply attention by the length of the vector it moves (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    words: in half precision with recorded steps on a GPU, in single precision elsewhere. Files are plain text, also
    .gz or .xz, or patterns of them in quotes; blank lines separate documents, some of which are held out and
    scored. The learning rate rises, and falls to 0 by the end of the budget. With `out`, a plain Hugging Face
    folder is written there. A teacher first reads all of the text once, unmasked; the pupil also learns to predict
    the teacher's states through a linear map of its last states, which isn't kept. With a model to start from
    nothing is drawn: it goes on learning from these texts, with its own vocabulary. A pre-training that was killed
    continues from the last point of its curve.

    Args:
        start: A BERT to train further, with its vocabulary, shape and weights.
        teacher: A larger encoder, whose last states for each word are learnt too.
        init: With --start. random: take only that model's vocabulary and shape, and draw all weights anew.
        layers: Layers of the encoder; by default 6. With --start, the options from here to --positions come from that model.
        heads: Attention heads per layer; by default one for every 32 units.
        units: Hidden units, by default 256; each layer's MLP has four times as many.
        vocabulary: Size of the vocabulary that is learnt from the text; by default 8,192 under 256 units, 16,384 under 512, else 30,000, or as many pieces as the text gives.
        cased: Keep capitals and accents; otherwise both are removed, as in BERT's uncased models.
        positions: The longest text that the model will read, in tokens; by default 512. With --start, that model's number, or more if you ask for more.
        length: Tokens per row, for most rows.
        short_share: The share of steps with rows about a quarter as long, which begin with a sentence where one is near, like the short texts that a model is asked about later; with --next-sentence half of them are pairs. With --length under 32 there are none.
        long_share: The share of steps with rows as long as there are positions, so that all positions are learnt.
        masking: words: mask all pieces of a masked word together; pieces: each for itself.
        mask_rate: The share of a row's pieces that is masked.
        next_sentence: Also learn whether the second part of a row follows the first or is from elsewhere (BERT does, RoBERTa doesn't).
        teacher_weight: With --teacher: the weight of the loss on the teacher's states (scaled to variance 1) beside the loss of a masked piece.
        minutes: The budget in minutes of training, including scoring and saving but not reading the text.
        steps: The budget in steps; by default as many as go through the text 10 times.
        batch_tokens: Tokens per step; by default as many as make 200 steps of the text, but between 4,096 and 131,072.
        learning_rate: The peak learning rate, from which it decays linearly to 0; by default 0.3 divided by the units (1.2e-3 for 256), and a third of that for a model that is trained further. Deep models learn nothing if it is too high; if it is too low, it takes them long to see how words belong together.
        warmup: The share of the budget over which the learning rate rises; by default a tenth, or with few steps as much as makes 300, at most 0.3.
        weight_decay: AdamW's weight decay; biases and LayerNorm have none.
        dropout: Dropout during pre-training; the model that is written has 0.1, for fine-tuning.
        held_out: The share of documents that is held out for scoring.
        keep: Which checkpoints to keep in the model's folder, as `checkpoint-N`, each a model: none; log: spaced by equal factors of steps, so that the beginning is seen; even: spaced by equal steps. The first is before any step, the last is the model.
        checkpoints: How many checkpoints to keep.
        half: Write weights in half precision (float16): half the size.
        compiled: On a GPU, compile the layers before the first step (torch.compile): takes a minute, and pays off over many steps.
        seed: Seed of the first weights, the order of the rows, masks and dropout.
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

    Probes learn to read a label (part of speech, relation, frame, entity, gender, the task's label, length,
    word) off the vectors of each layer of each checkpoint. Their accuracy on other texts stands beside the
    majority's, the accuracy of the word's usual label, and that on a control task in which every word has a random
    label: what a probe learns by heart. The length of an online code shows how easily the label is read; the
    expected layer shows where it comes from.

    Args:
        targets: What to read off the vectors: pos, relation (of a word and its head), frame, entity, gender, label, length (of the text), word (which of the most frequent); by default all that the corpus has.
        probes: linear: one map and a softmax; mlp: one hidden layer before it. The first one named also computes the online code, reads the mixes of layers and is drawn.
        hidden: Units of the hidden layer.
        words: At most this many words (pairs, texts) to train probes on, as many to test, and an eighth for validation; chosen by a hash.
        balanced: If there are more words than that, drop those of frequent labels first.
        types: For the target `word`: how many of the most frequent words.
        bins: For the target `length`: how many groups of texts, of about equal size.
        code: Measure how long an online code of the labels is (minimum description length).
        expected: Measure the expected layer, by mixing layers 0 to l.
        repeats: Bootstrap resamples of the texts behind each interval.
        seed: Seed of the split of the texts, the words that are drawn, the control task, the probes and the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The vectors of all tokens of one text, special ones included, in two dimensions, one layer at a time, with
    the share of the variance that the plane holds. The two texts of a pair, and a question's answers, each have
    their colour. Several checkpoints stand side by side.

    Args:
        example: The text: its id, or its number in the data, counted from 1.
        method: pca: each layer by itself, turned to match the layer below; joint: one plane for the tokens of all layers; umap: the same by UMAP, if it is installed.
        seed: Seed of UMAP; PCA has nothing random in it.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Parts are pruned step by step, without training in between, for as long as the validation set's score stays
    above the threshold; the last mask that passed is kept, and scored on the test set. How much is left has an
    interval: where other validation rows would have stopped, on the same path. Every step is written to `out`, so
    that a run that was killed can continue.

    Args:
        ranking: The folder of a stored result that ranks the model's heads and MLPs (ablate, circuit, graft, importance ...): parts are pruned in its order.
        method: s: prune whole heads and MLPs, the least important first; m: prune single weights, the smallest first.
        threshold: The share of the full model's score that must remain.
        rule: What --threshold is a share of. chance: the score above a constant answer's; paper: the plain score, which lets a constant answer pass if the model is weak.
        share: How much is pruned per step. s: this share of all heads, and one MLP; m: this share of the remaining weights.
        importance: For s: how importance is measured; see `importance`.
        stop: Which mask to keep. paper: the last one before the first that fails; smallest: the smallest that passes, even if larger ones fail; tested: a mask passes if it is above the threshold for certain (one-sided test at .05).
        force: Continue even if the full model isn't clearly above chance.
        order: For s: in which order parts are pruned. recomputed: by importance, measured again after each step, as in the paper; gradient: the same measured once, on the full model; loss, kl, integrated: measured once, as in `circuit`, where a part that is off leaves nothing; random. --ranking takes the order from a stored result instead.
        seed: Seed of the random order.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    """In which layer does the answer appear?

    The states of each layer, from the embeddings (0) on, are given to the model's own task head, pooler and last
    norm included, in place of the last layer's: plainly, and through a linear shortcut, which is a ridge regression
    from the layer's states to the last ones on the training set, with its penalty chosen on the validation set. The
    score and the loss on the test set are compared with the final ones on the same texts, with paired bootstrap
    intervals. A text settles in the first layer from which on its final prediction stays.

    Args:
        fit: At most this many training texts to fit the shortcuts on, and validation texts to choose their penalty; drawn by their ids. 0 leaves the shortcuts out.
        controls: Also read through shortcuts that were fitted to permuted last states, and from a model with random weights: one more pass over all of these texts.
        share: The answer counts as there once a layer has this share of the final score's lead over chance; most texts count as settled once this share of them has.
        close: For scores: how near to the final one counts as the same, in standard deviations of the final ones.
        rows: How many test rows to list, at most; all are counted.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the resampling, the texts and tokens that are drawn, the permutation and the random weights.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    alike. If the data is a task that the model answers, the most similar pairs are switched off together: if both
    cost more than the sum of each alone, one may do what the other could. That is measured by the score and by the
    loss, which also shows what no prediction shows; each pair's interaction is tested by the loss (Holm).

    With --null: how often something is found where both sides of each comparison are exchanged at random: of a pair, both or no heads off with one head off, text by text; similar pairs with their random partners; the whole model with the named heads off, text by text; the named heads with a random set; to compare, the same of the same model with random weights.

    Args:
        queries: Tokens of each text, chosen at random, whose attention is compared between all pairs of heads. Each costs about a tenth of a pass through a small model and estimates the same mean; 0 takes every token.
        tokens: Tokens of the whole corpus, chosen at random, on which the heads' outputs are compared (CKA).
        clusters: How many groups of heads to form; 0 takes the number that fits best (silhouette).
        pairs: How many of the most similar pairs to list and, if the model answers the task, to switch off together, beside as many random pairs of the same layers. Each costs up to three passes through the model.
        together: Heads to switch off together, such as head:3.4, against random sets of as many heads of the same layers: are they redundant, or is what they do not needed? Needs a model that answers the task.
        mode: What a head that is off leaves behind: equal attention to every token (uniform), nothing (zero), or its average output (mean).
        weighted: Norm-weighted attention: multiply attention by the length of the vector it moves (Kobayashi et al. 2020), so that looking at a token and taking nothing from it doesn't count.
        null: Also test, 200 times, data in which heads that are off together do nothing beyond what each does alone; and switch the same heads off in the same model with random weights, which about doubles those passes.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of which tokens and which random pairs are taken, and of the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    A head finds a pair of words if one of them attends to the other more than to any other word. For each
    relation of a treebank or of your own annotation, one half of the sentences chooses the best head and direction,
    and the best fixed offset ("the word before"); the other half scores both. Each head's attention within pairs,
    beyond what uniform attention gives, is compared with that in control pairs, which have the same distance, parts
    of speech and numbers of pieces. The same is done from frames' elements to the word that evokes the frame,
    beside the score of Dark Secrets.

    With --null: how often something is found where pairs and their controls, and the best heads' and offsets' hits, are exchanged at random; to compare, the same model's differences with random weights.

    Args:
        validation_share: The share of the sentences that choose head, direction and offset; the others score them.
        least: Relations with fewer scored pairs than this are listed, not tested.
        subtypes: Keep nsubj:pass apart from nsubj, and so on.
        core: For frames: only the core elements.
        weighted: Multiply attention by the length of the vector it moves (Kobayashi et al. 2020).
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the split, the control pairs, the resampling and the random weights.
        null: Also report how often the tests find something where there is nothing to find, and what the models find with random weights. About twice the work.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The same architecture, task and training, from the pretrained weights and from random ones, each as a whole
    and with the encoder frozen; beside them the pretrained encoder before any training, two baselines that need no
    encoder, and each encoder's attention patterns.

    Args:
        seeds: Run one training of each kind for each seed; 5 or more give intervals over trainings.
        patterns: Also report which attention patterns each encoder has (for the first seed).
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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
    """Do texts with similar meanings have similar vectors?

    Nothing is trained. Each text of the test set's pairs is read alone; its vector is the first token's, or the
    mean of its tokens'; a sentence-transformers model also has its own vector, in the last layer. By layer: how
    well the cosine of two texts follows their score (Spearman), how close texts with the same meaning are
    (alignment), and how evenly all texts are spread (uniformity).

    Args:
        least_score: For alignment: the lowest score at which two texts count as meaning the same; by default four fifths of the highest score.
        sample: Texts for alignment and uniformity, chosen by a hash.
        groups: The intervals of alignment and uniformity come from this many groups of neighbouring pairs, each left out in turn.
        repeats: Bootstrap resamples behind the interval of each Spearman.
        seed: Seed of what is sampled, and of the resamples.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Heads, MLPs, neurons and layers are removed, those first that the model needs least for what they save, by
    the validation set; what is left is trained again. Beside it stand what needs no search and no training, the
    whole model in int8, and both at once; which of the three to take is decided on the validation set. `pruned` is
    a stored answer of `prune`: what it pruned is removed from the start. With `out`, the cut model is written
    there, for bertscope, for onnxruntime and, if its shape allows it, for plain transformers, and the whole one in
    int8 if that is the one to take; with a model card that says which to take, what was cut, what it cost and where
    its answers differ.

    Args:
        pruned: The folder of a stored prune or lottery: what it pruned is cut first.
        target: 2x: twice as fast, measured on this machine; 50%: half of the blocks' parameters left; '1 point': at most 0.01 of the metric lost on the validation set. By default 2x, or what --pruned leaves.
        batch: How many texts go through the model at a time when speed is measured: removing heads and neurons speeds up many texts at once, a single text gains most from removing whole layers.
        shape: plain: only cuts that transformers can open without this package: whole layers, and equally many neurons in each.
        retrain: Train what is left on the training set; --no-retrain only cuts.
        distill: Train it on the whole model's predictions too, not on the labels alone.
        temperature: How much distillation softens probabilities.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        step: The share of the model's cost to remove before measuring again what it can do without.
        rows: How many validation rows the search looks at.
        curve: Also cut to other sizes, and try the alternatives: remove the top layers, prune single weights, train the whole model further. Each is trained like the cut model, so this takes long.
        onnx: Write ONNX files, in float32 and int8, and compare them; --no-onnx leaves them out.
        timed_on: Where to measure speed: on the device that the model is on, or on the CPU even if it is trained on a GPU.
        force: Continue even if the whole model isn't clearly above chance.
        seed: Seed of the training, and of the rows and texts that are drawn.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    The same sampled words in every checkpoint and layer: RSA (how the cosines between all words in one correlate
    with those in the other), linear CKA (debiased, and plain beside it) and the Procrustes distance, which no
    rotation changes, beside the plain cosine, which any rotation does. By layer, for every two layers, and as more
    words are taken. For a single checkpoint: how its layers differ. `against` is a second corpus, where the change
    may be different; from Python, states that are already stored also need `against_states`, the states of that
    corpus.

    Args:
        against: Other data to repeat this on: is the change the same out of domain?
        words: How many words to compare, sampled by a hash of the text's id and the word's place; all, if there are fewer.
        pairs: first: compare each checkpoint with the first; all: compare every two.
        grid: Also compare every layer with every other, within and between checkpoints. This takes most of the time.
        groups: The intervals come from this many groups of neighbouring texts, each left out in turn.
        seed: Seed of which words are sampled; nothing else is random.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    One pass of the encoder: every layer's vectors go to a memory-mapped array that `similarity`, `structure`,
    `probe`, `project` and `geometry` read, so that none of them has to run the encoder again.

    Args:
        pool: What each vector is. word: the mean of a word's pieces; token: each token that isn't special; cls: the first token; mean: the mean of an example's tokens without the special ones.
        init: random: draw all weights anew first, as a control for what pre-training gives.
        seed: Seed of the random weights; nothing else is random.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Linear maps are trained so that squared distances between words are their distances in the dependency tree,
    and squared lengths their depths: one of each for every layer of every checkpoint, all at once. They are scored
    on other sentences, beside a chain of words, random weights and random trees. `train` is another corpus to train
    on; without it one corpus is split in three. From Python, states that are already stored must include the random
    model's, and `train_states` holds those of `train`.

    Args:
        train: Other data to train on; all of --on is then scored. By default --on is split.
        ranks: The probes' ranks, all trained together. In the paper, ranks above 64 add less than half a point of UUAS. A rank above a model's width is set to its width.
        control: Also train the best layer's probes on random trees of the same shapes: what a probe finds where there is nothing.
        random: Also probe the first model with random weights: what its architecture and the words alone give.
        epochs: The most epochs; a probe stops after 5 without an improvement on the validation sentences.
        batch_size: Sentences per step.
        learning_rate: Adam's at the start; it falls to a tenth after each epoch without an improvement.
        show: The ids of scored sentences whose trees to draw.
        sentences: How many trees to draw if none are named: short ones, chosen by a hash of their ids.
        repeats: Bootstrap resamples behind each interval.
        seed: Seed of the split, the probes' first weights, the order of the sentences, the random trees, the random model's weights and the resampling.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Layers are removed from the model, the top ones or any others, and what is left is fine-tuned like the whole;
    or they are removed from the fine-tuned whole. Each is compared with the whole on the same seeds and examples:
    its score, the time of its training and of a prediction, its size. Crossed with the classifier on top, the
    dropout before it and the pooler, this shows which of these changes matters.

    Args:
        remove: How many layers to remove from the top, such as `0,1,2,6`, or which ones, such as `4-6` or `2+9`; `all` tries every number. By default none, 1, 2 and half of them: 4 trainings for each seed. The whole model is always among them.
        retrain: Fine-tune what is left, from the base; --no-retrain instead removes the layers from the fine-tuned whole model: 1 training for each seed.
        cross: The slides' three changes, each with and without the others: the top layer, the classifier (linear, relu), and the dropout before it (the model's own, 0). Other flags widen it. 8 trainings for each seed.
        classifiers: Which classifiers to try: linear, relu (50 hidden units).
        dropouts: Which dropouts before the classifier to try: numbers, or own for the model's.
        poolers: Whether to keep the layer between the encoder and the classifier, take it off, or try both.
        seeds: Run one set of trainings for each seed; 5 or more give intervals over trainings.
        recipe: The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket as for finetune.
        epochs: Passes over the training set; by default the recipe's.
        learning_rate: The peak learning rate; by default the recipe's.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
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

    Both models answer the test set, and each row is fixed, broken, right in both or wrong in both. Whether more
    is fixed than broken is tested exactly (McNemar's test); for metrics that are no share of rows, and for the
    loss, by exchanging the two models' answers row by row. Recall, precision and F1 of each label stand side by
    side, with paired intervals, corrected over labels (Holm). Slices of the rows in which more changes than
    elsewhere are searched for (max-T, corrected for all that are tried). Also given: how far the two agree beyond
    chance, and the calibration of both. A model is a folder, a hub id or an ONNX file: compare a model with its
    cut, pruned or int8 form, two seeds, or two models with the same labels.

    With --null: how often something is found where the answers of A and B are exchanged row by row at random (for slices: the rows' changes are permuted); to compare, what an answer without reading would fix and break of A's rows.

    Args:
        words: Also look at slices of the rows that share a word: words in 2% to 50% of the texts.
        repeats: Bootstrap resamples behind each interval.
        permutations: Random exchanges of the two models' answers behind each p-value that isn't exact, and permutations of the rows behind the p-values of slices.
        null: Also report how often the tests find something where there is nothing to find, and what answers given without reading would fix and break. Needs no further pass through the models.
        seed: Seed of the resampling and the exchanges; the models' answers have nothing random in them.
        text: The column with the text; by default guessed from the column names.
        text_pair: The column with the second text of a pair.
        label: The column with the label or score. Where a text can have several labels and each has its own column: all these columns, separated by commas.
        choices: For multiple choice: the column with a list of candidate texts, or the columns with one candidate each, separated by commas.
        several: For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
        id: The column with a unique name for each row; by default the row's file and line.
        kind: The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored pairs, for models that embed texts.
        slice: Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the other rows.
        limit: Use at most this many rows of each split.
        root: The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub.
        skip_bad: Leave out rows that can't be used, and count them, instead of stopping at the first.
        metric: The main metric; by default the task's own.
        windows: For labels and scores: read a text that is longer than the model allows in up to this many windows and average the outputs; 0 truncates it.
        label_threshold: For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on the validation set.
        data_seed: Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes.
        store: The store in which the answer is looked for, and kept.
        tokenizer: Of a transformers model that doesn't say where its tokenizer is.
        base: What models whose origin isn't recorded were fine-tuned from.
    """
