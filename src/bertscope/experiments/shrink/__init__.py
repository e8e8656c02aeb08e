"""`shrink`: a smaller, faster model that still does the task.

`costs` is what a shape costs, `search` finds the parts to cut and `reaching` leads it to the target; `measure` does
all of it and looks at the `alternatives`; `card` and `result` tell what came of it.
"""
