"""`freeze`: trainings with frozen parts, what they give and what they take."""
