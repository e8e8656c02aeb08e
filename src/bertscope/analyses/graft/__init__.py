"""`graft`: where what fine-tuning taught a model lives in its weights."""
