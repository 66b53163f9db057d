"""Shows cards, callers, tasks and contexts to people."""
