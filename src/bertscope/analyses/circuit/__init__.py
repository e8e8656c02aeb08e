"""`circuit`: the parts that a ranking puts first are kept, and the rest is off."""
