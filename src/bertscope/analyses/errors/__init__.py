"""`errors`: where a model goes wrong, how sure it is there, and which rows have that in common."""
