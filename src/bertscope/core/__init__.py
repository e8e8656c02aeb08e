"""Values everyone shares: questions, results, figures, steps and their store, lineage, resampling, errors, files."""
