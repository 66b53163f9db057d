"""Keeps the server and the key of each agent, and gets them by a sign-in in the browser."""
