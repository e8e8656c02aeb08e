"""bertscope's speed claims, measured: `python -m benchmarks`. See README.md beside this file."""
