"""Moves a team to another server (docs/cells.md): copies its rows into an encrypted folder, stores
them on the other server, and lets only one of the two servers use the team."""
