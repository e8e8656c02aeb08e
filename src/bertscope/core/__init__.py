"""Values everyone shares: results, figures, steps and their store, the registry of questions, errors, atomic files."""
