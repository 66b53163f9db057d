"""Lets owners make, rotate and revoke the keys and the signing secret of an agent."""
