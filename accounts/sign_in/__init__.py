"""Signs people in: sessions, known browsers, passwords and the second factor."""
