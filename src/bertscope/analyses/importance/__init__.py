"""`importance`: `gradients` at the gates, `reader` resamples them, `faithful` sets them against ablation."""
