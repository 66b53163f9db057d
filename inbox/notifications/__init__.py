"""Sends people digests and last reminders by e-mail."""
