"""The A2A relay: agents on anyone's machine, reachable by other agents, asking the same people."""
