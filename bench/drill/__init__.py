"""Fills a database with millions of deliveries, and measures what a server then does (`make
drill`)."""
