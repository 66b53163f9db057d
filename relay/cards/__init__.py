"""Publishes agents, serves their cards, and says who may call them."""
