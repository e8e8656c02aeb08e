"""What the questions about attention share: `maps` reads them, `pass_part` lets several questions share a pass."""
