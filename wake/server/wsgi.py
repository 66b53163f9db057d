"""Builds the WSGI application, which takes a thread for each request. The application serves all
requests that do not wait or stream.

`wake/server/web.py` serves it. A WSGI server of its own would need a proxy in front that reads
whole bodies and drops headers with underscores."""

import os

from django.core.wsgi import get_wsgi_application

from wake.server.http.headers import ReadableWsgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")
# A long poll that comes here anyway holds a thread. From the third simultaneous one on, it is
# answered immediately.
os.environ["WAKE_MAX_WAITING"] = os.environ.get("WAKE_MAX_WAITING") or "2"

application = ReadableWsgi(get_wsgi_application())
