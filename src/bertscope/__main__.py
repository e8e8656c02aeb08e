"""`python -m bertscope` is the command line."""

from bertscope.cli.main import main

main()
