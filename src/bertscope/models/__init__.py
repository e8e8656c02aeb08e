"""What is studied: loading, families, gates, the streaming pass."""
