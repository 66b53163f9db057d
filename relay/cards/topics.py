"""Names the notification that a caller may have lost access to an agent."""

ACCESS_TOPIC = "a2a-access"
