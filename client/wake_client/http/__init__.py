"""Says what the requests of the SDK are, where they go, and when they are repeated."""
