"""Lets a person download the data about them, and have their account removed."""
