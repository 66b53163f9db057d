"""Configures the log: one line for each event, on standard error."""

import os

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "wake.server.log_lines.LineFormatter",
            "format": "{asctime} {levelname:<7} {name}: {message}",
            "style": "{",
        }
    },
    "filters": {"expired_jobs": {"()": "wake.server.work.expired_jobs.OneLine"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": os.environ.get("WAKE_LOG_LEVEL", "INFO")},
    "loggers": {
        # A line every second for jobs that found nothing to do would be noise.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        # The filter writes one line a minute for jobs that have expired.
        "celery.worker.request": {"filters": ["expired_jobs"]},
        # Under DEBUG, Django logs its own requests to a console of its own; ours belongs to the
        # root logger.
        "django": {"handlers": [], "level": "INFO"},
        # The answer already contains the client's error.
        "django.request": {"level": "ERROR"},
        # The same holds for a wrong host or a form that is too large, which would log a traceback
        # each.
        "django.security": {"level": "CRITICAL"},
    },
}
