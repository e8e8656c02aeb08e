"""`similarity`: `sample` takes the same words from two spaces, `measures` says how alike these are."""
