"""`similarity`: `rsa_cka` says how alike two spaces are that the same words were put into."""
