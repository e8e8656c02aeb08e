"""`ablate`: parts of a model are switched off, and what that costs is told."""
