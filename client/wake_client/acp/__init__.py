"""Lets people answer the permission requests of an ACP agent in Wake (`wake acp`)."""
