"""`geometry`: how a layer's words lie in space.

`words` says which rows are which words, `vectors` gives a layer's vectors and measures them.
"""
