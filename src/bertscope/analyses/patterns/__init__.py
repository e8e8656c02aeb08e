"""`patterns`: what shape each head's attention has."""
