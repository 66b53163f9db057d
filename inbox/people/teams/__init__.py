"""Shows teams, their members and invitations, and how long they keep content."""
