"""Exports what an auditor needs about one agent: what was asked, who decided, and what came of
it."""
