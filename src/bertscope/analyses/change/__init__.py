"""`change`: what fine-tuning changed in the attention."""
