"""`prune`: `pruning` has the loops, `iterations` keeps their steps on disk."""
