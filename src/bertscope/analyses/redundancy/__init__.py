"""`redundancy`: how different the heads are from each other."""
