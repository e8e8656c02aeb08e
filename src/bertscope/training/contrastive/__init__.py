"""`contrastive`: an encoder learns which texts belong together."""
