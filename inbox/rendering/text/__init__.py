"""Turns the text of an agent into HTML: markdown, coloured code, and links whose host is named."""
