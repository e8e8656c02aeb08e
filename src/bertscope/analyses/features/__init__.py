"""`features`: `reader` adds up the attention that falls on words, `tables` lays it out."""
