"""`project`: a text's tokens in a plane, layer after layer."""
