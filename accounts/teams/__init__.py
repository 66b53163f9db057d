"""Creates teams, changes their members, and invites people."""
