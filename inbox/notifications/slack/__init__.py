"""Answers deliveries from Slack: presses of buttons, and what messages show after them."""
