"""Measure a model as it is: a question is one file, or a folder of its name in which `question` is asked.

What several share lies beside them: `checkpoints` and `states` open what is asked about, `occurrences` tells words
apart, `trust` has the cautions, `attention` the pass over maps, `shapes` the classifier of maps.
"""
