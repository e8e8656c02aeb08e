"""`prune`: a fine-tuned model loses parts for as long as it does its task."""
