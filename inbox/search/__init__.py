"""Finds deliveries by words and filters, and maintains the index for that."""
