"""Shows how long a team keeps content. Its owners can change this."""
