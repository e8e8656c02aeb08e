"""What the questions about attention share: `maps` reads them, `reading` lets several questions share a pass."""
