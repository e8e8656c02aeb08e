"""`project`: `reader` takes a text's vectors, `projection` puts them in a plane, layer after layer."""
