"""Tells the operator what the server does: writes the log, and sends traces and errors."""
