"""Decides what people may see and do, and describes the person who looks at a page."""
