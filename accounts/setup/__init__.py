"""Sets up teams, people and agents for the operator of a server."""
