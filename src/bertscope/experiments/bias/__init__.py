"""`bias`: `question` leaves a part of the data out, `swap` exchanges words, `result` compares the arms."""
