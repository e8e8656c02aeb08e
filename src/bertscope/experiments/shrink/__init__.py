"""`shrink`: a smaller, faster model that still does the task.

`targets` is what the user wants and `costs` what a shape costs; `search` finds the parts to cut, of which `numbers`
keeps the names, and `reaching` leads it to the target. `shrinking` does all of it and looks at the `alternatives`;
`card` and `result` tell what came of it.
"""
