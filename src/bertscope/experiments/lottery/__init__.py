"""`lottery`: subnetworks of a fine-tuned model; `ticket` is the step that trains one again."""
