"""Shows how long a team keeps content. Owners of the team can change this time."""
