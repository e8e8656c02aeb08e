"""Values everyone shares: results, figures, steps and their store, the catalogue, errors, atomic files."""
