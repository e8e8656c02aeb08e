"""`pretrain`: plain text in, a small encoder of its language and its learning curve out."""
