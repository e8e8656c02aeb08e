"""A study of two questions that takes seconds."""

STUDY = """\
title: Two questions
model: ./tiny
tasks: reviews.csv
training: {epochs: 1}
questions:
  - scratch: {patterns: false}
  - patterns: {repeats: 100}
"""
