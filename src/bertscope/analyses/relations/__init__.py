"""`relations`: `pairs` of words that are linked, `reader` scores heads on them, `tables` chooses and reports."""
