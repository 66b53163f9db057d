"""Holds what all pages share: access, the viewer, filters in the address, times and panels."""
