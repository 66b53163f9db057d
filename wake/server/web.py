"""Builds the application that `manage.py up web` serves: WSGI behind an edge that reads the
bodies."""

# ruff: noqa: I001
from wake.server.wsgi import application as wsgi  # first, because it loads the settings

from django.conf import settings

from wake.server.http.body_limit import BodyLimit
from wake.server.http.headers import HyphenatedHeaders
from wake.server.telemetry.request_log import RequestLog
from wake.server.http.request_threads import RequestThreads
from wake.server.http.request_turns import RequestTurns
from wake.server.http.slow_readers import SlowReaders
from wake.server.metrics import serving
from wake.server.metrics.endpoint import with_metrics

_in_turns = RequestTurns(RequestThreads(wsgi), number=settings.WAKE_MAX_REQUESTS)
application = with_metrics(HyphenatedHeaders(RequestLog(SlowReaders(BodyLimit(_in_turns)))))
serving.serve()
