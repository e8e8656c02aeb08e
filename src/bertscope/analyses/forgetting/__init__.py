"""`forgetting`: what a fine-tuning loses on its way, beside what it learns."""
