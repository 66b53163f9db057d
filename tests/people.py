"""Has the password of every person in a test."""

from __future__ import annotations

PASSWORD = "correct horse battery"
