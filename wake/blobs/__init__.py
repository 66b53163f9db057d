"""Keeps the files that agents upload: checks pictures and writes them again, finds the blobs that a
delivery shows, and removes those that nothing uses."""
