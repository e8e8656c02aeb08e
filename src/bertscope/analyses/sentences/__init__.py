"""`sentences`: `question` asks whether vectors of texts follow their meanings, `result` measures it."""
