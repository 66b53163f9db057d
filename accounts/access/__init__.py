"""Decides what people may see and do, and describes the viewer of a page."""
