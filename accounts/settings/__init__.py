"""Shows and changes what a person sets about themselves: profile, password, address, absence."""
