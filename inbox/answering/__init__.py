"""Takes people's answers, one at a time or in batches, and undoes them."""
