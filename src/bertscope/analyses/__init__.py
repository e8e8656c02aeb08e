"""Measure a model as it is: a question is a folder of its name, which `question` declares.

What several share lies beside them: `side_by_side` names checkpoints, `state_inputs` opens hidden states,
`gradients` takes them at gates, `text_pairs` has texts that mean the same, `tables` lays arrays out, `occurrences`
tells words apart, `caveats` has the cautions, `attention` the pass over maps, `shapes` the classifier of maps.
"""
