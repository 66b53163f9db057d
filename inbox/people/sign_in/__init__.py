"""Shows the pages for signing in, lost passwords and two-step sign-in."""
