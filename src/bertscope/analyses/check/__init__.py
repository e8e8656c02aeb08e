"""`check`: do this model and these data belong together?"""
