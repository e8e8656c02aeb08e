"""`courses`: the same lines in several trainings of one recipe, with intervals over trainings."""
