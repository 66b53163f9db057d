"""Answers deliveries from Slack: button presses, and the messages after them."""
