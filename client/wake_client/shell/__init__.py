"""Implements the terminal subcommands of `wake`, and the access that they share."""
