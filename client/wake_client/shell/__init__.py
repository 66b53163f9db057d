"""The subcommands of `wake` for a terminal, and the access that they share."""
