"""Sends the checkpoints of the log to the destinations that the operator configured."""
