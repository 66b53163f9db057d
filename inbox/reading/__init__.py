"""Reads deliveries as one person may see them: whole, as rows of lists, and with news."""
