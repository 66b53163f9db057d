"""Gives other packages the database tools that they need: queries, clock, sweeps, encryption."""
