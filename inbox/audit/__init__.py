"""Shows and exports the audit of a person's teams."""
