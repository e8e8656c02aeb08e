"""`importance`: `faithful` sets what the gradients say against what happens when parts are really switched off."""
