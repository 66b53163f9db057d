"""Shows the pages for signing in, for addresses and for the security of an account."""
