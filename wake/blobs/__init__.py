"""Stores the files that agents upload. Checks pictures and writes them again, finds the blobs that
a delivery shows, and removes unused ones."""
