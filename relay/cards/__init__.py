"""Publishes agents, serves their cards, and decides who may call them."""
