"""Finds deliveries by words and filters, and keeps the index for it."""
