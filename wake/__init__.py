"""The protocol, and where the server is put together."""

from wake.server.work.celery import app as celery_app

__all__ = ["celery_app"]  # so that every process has the jobs' app, not only a worker
