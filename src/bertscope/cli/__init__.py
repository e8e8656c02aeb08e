"""The command line: thin and lazy."""
