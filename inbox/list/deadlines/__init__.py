"""Shows close deadlines, after which agents continue without an answer, and missed deadlines."""
