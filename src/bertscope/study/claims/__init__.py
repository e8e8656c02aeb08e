"""The claims ledger: what the source works say, checked against what is stored.

`claim` has the record and the one rule that gives a verdict; each source has a file of records; `ledger` puts them
beside stored results, `summary` says the results in words, `question` makes a stored answer of both.
"""
