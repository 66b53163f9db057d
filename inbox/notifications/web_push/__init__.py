"""Notifies people in their browsers, by web push."""
