"""`erase`: `leace` erases a label from vectors in closed form."""
