"""Changes the schema while servers run: indexes and constraints that block no writer."""
