"""`readout`: in which layer the answer is there."""
