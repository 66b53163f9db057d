"""Gives other packages what they need of the database: queries, clock, sweeps, encryption."""
