"""Creates teams, invites people, and shows and changes the members."""
