"""`states`: a corpus's hidden states, kept once for all the questions that read them."""
