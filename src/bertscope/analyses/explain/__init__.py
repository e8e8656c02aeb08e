"""`explain`: which words made a prediction?"""
