"""The claims ledger: what the source works say, checked against what is stored.

`records` has a file of claims for each work, and the numbers that they publish; `measure` puts them beside stored
results, and tells the results by the `statements`.
"""
