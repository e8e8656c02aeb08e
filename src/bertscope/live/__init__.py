"""The live page: one text through one or two checkpoints, with parts switched off or exchanged as one looks."""
