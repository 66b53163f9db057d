"""Implements the protocol WAKE v1, and puts the server together."""

from wake.server.work.celery import app as celery_app

__all__ = ["celery_app"]  # so that every process has the jobs' app, not only a worker
