"""Fills a scratch database for a measurement. Each module runs in a process with Django."""
