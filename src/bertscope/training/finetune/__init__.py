"""`finetune`: an encoder and a task in, a fine-tuned encoder and its learning curve out."""
