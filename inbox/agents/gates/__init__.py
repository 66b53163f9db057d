"""Lets the owners of a team issue and revoke its gate keys."""
