"""Notifies open pages immediately of events in the inbox."""
