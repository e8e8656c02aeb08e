"""`ablate`: `question` switches parts off, `result` tells what that costs."""
