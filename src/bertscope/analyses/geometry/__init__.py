"""`geometry`: how a layer's words lie in space.

`words` says which rows are which words and `space` gives a layer's vectors; `measures`, `dimension` and `pairs`
measure them, `layer` gathers that for one layer, `result` and `figures` for all.
"""
