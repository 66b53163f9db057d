"""Assigns deliveries to people of the team, by rules or because a person takes one."""
