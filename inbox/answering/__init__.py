"""Takes people's answers, one at a time or in batches, and takes them back."""
