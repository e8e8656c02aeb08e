"""Change a model, train it, measure it: a question is a folder of its name.

What several share lies beside them: `arms` compares trainings, `trainings` plans them, `comparison` puts models side
by side, `subnetworks` keeps parts of one.
"""
