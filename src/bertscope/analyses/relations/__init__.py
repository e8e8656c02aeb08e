"""`relations`: which heads link words that stand in a relation."""
