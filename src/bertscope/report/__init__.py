"""Stored results become one self-contained page. Knows no torch and computes no finding."""
