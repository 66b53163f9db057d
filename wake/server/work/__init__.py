"""Runs jobs with Celery: the app, its brokers and the watchdog of a worker."""
