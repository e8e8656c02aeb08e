"""`erase`: `leace` erases a label from vectors, `measures` asks what a model can do without it."""
