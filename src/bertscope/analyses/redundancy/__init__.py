"""`redundancy`: `reader` measures how heads differ, `clusters` groups them, `interactions` switches pairs off."""
