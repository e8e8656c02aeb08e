"""What the source works say: a file of claims for each, and the numbers that they publish."""
