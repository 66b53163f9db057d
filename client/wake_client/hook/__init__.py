"""`wake hook`: a coding agent's permission prompt becomes a question that people answer in Wake."""
