"""Builds the application that `manage.py up web` serves: WSGI behind an edge that reads the
bodies."""

# ruff: noqa: I001
from wake.server.wsgi import application as wsgi  # first, because it loads the settings

from django.conf import settings

from wake.server.http.body_limit import BodyLimit
from wake.server.http.headers import HyphenatedHeaders
from wake.server.http.request_threads import RequestThreads
from wake.server.http.slow_readers import SlowReaders

THREADS_WITHOUT_A_POOL = 4

_pool = settings.DATABASES["default"]["OPTIONS"].get("pool", {})
# There is a thread for each database connection of the pool, except one connection for /readyz.
THREADS = max(1, _pool.get("max_size", THREADS_WITHOUT_A_POOL + 1) - 1)

application = HyphenatedHeaders(SlowReaders(BodyLimit(RequestThreads(wsgi, threads=THREADS))))
