"""Shows operators whether the server is well, and what to do if not."""
