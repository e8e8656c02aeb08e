"""Other libraries beside bertscope, in an environment of their own: `make bench-peers`."""
