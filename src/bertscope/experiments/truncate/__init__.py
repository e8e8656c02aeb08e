"""`truncate`: layers leave a model, with and without training what is left."""
