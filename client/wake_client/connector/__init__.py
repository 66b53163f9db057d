"""Runs an agent's command on this machine for tasks that come over the relay; outbound only."""
