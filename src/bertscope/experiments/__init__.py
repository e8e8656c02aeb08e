"""Change a model, train it, measure it: a question is one file, or a folder of its name in which `question` is asked.

What several share lies beside them: `arms` compares trainings, `trainings` plans them, `contenders` puts models side
by side, `subnetworks` keeps parts of one.
"""
