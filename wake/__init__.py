"""Implements the protocol WAKE v1, and assembles the server."""

from wake.server.work.celery import app as celery_app

__all__ = ["celery_app"]  # so that every process can queue jobs, not only a worker
