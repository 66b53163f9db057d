"""Shows people which clients may connect, and which they connected themselves."""
