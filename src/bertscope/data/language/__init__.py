"""The demo language: English sentences from a grammar, with gold annotation by construction."""
