"""`minimal-pairs`: is the good text of a pair the likelier one?"""
