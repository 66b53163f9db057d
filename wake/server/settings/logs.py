"""Configures the log: one line for each event, on standard error."""

import os

from wake.server.settings import env

WAKE_LOG = env.one_of("WAKE_LOG", "text", "json")
SENTRY_DSN = env.secret_text("SENTRY_DSN")
WAKE_LOG_LEVEL = os.environ.get("WAKE_LOG_LEVEL", "INFO")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {
            "class": "wake.server.telemetry.lines.LineFormatter",
            "format": "{asctime} {levelname:<7} {name}: {message}",
            "style": "{",
        },
        "json": {"class": "wake.server.telemetry.json_lines.JsonFormatter"},
    },
    "filters": {
        "expired_jobs": {"()": "wake.server.work.expired_jobs.OneLine"},
        "routes": {"()": "wake.server.telemetry.filters.RouteForPath"},
        "libraries": {"()": "wake.server.telemetry.filters.LibrariesFromInfo"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": WAKE_LOG,
            "filters": ["libraries"],
        }
    },
    "root": {"handlers": ["console"], "level": WAKE_LOG_LEVEL},
    "loggers": {
        # A line every second for jobs that found nothing to do would be noise.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        # The filter writes one line a minute for jobs that have expired.
        "celery.worker.request": {"filters": ["expired_jobs"]},
        # It would say every hour how many tokens of each kind it deleted.
        "oauth2_provider.models": {"level": "WARNING"},
        # Under DEBUG, Django logs its own requests to a console of its own; ours belongs to the
        # root logger.
        "django": {"handlers": [], "level": "INFO"},
        # The answer already contains the client's error.
        "django.request": {"level": "ERROR", "filters": ["routes"]},
        # The same holds for a wrong host or a form that is too large, which would log a traceback
        # each.
        "django.security": {"level": "CRITICAL"},
    },
}
