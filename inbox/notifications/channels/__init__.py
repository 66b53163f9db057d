"""Notifies people and teams where they are: by mail, chat, phone or webhook."""
