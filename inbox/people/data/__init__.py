"""Lets a person download what is stored about them, and have their account removed."""
