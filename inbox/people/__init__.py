"""Holds the pages on which people sign in, form teams and change their settings."""
