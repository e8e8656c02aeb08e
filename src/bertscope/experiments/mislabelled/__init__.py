"""`mislabelled`: which training labels may be wrong, and how many wrong ones would be found."""
