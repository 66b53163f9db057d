"""Lets the people of a team write comments to each other about a delivery. Agents never read the
comments."""
