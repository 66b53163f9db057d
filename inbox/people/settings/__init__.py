"""Shows what one person can change about themselves."""
