"""Keeps content out of lines that libraries write."""

from __future__ import annotations

import logging

from django.http import HttpRequest

# These parameters of a route take any text, such as the token of a link in a mail.
FREE = ("<str:", "<path:", "(?P<")
# The lines of these for developers have no content. The broker carries only the names of jobs.
MAY_DEBUG = {
    *("accounts", "database", "inbox", "pages", "relay", "wake"),
    *("_granian", "amqp", "asyncio", "celery", "kombu"),
}


class LibrariesFromInfo(logging.Filter):
    """Drops lines below INFO of libraries that may quote content in them, as oauth2_provider names
    clients."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.INFO or record.name.partition(".")[0] in MAY_DEBUG


class RouteForPath(logging.Filter):
    """Replaces the path in Django's line about a failed request with the route, if the address may
    have free text. A path such as `/deliveries/<uuid>/` stays."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            resolved = request.resolver_match
            route = f"/{resolved.route}" if resolved else "an address that does not exist"
            if resolved is None or any(kind in route for kind in FREE):
                record.args = tuple(route if arg == request.path else arg for arg in record.args)
        return True
