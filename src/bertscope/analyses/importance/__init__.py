"""`importance`: what gradients say of parts, set against what happens when they are really switched off."""
