"""`features`: which words draw attention."""
