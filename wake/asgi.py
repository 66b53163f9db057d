"""Builds the application that granian serves under ASGI: everything, long polls and WebSockets
too."""

import os
import warnings

from django.core.asgi import get_asgi_application

from wake.server.http.content_types import ReadableAsgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")
_django = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 - settings are ready now
from django.utils.module_loading import import_string  # noqa: E402

from wake.api.event_streams import EventStreams  # noqa: E402
from wake.server.http.body_limit import BodyLimit  # noqa: E402
from wake.server.http.header_names import HyphenatedHeaders  # noqa: E402
from wake.server.http.slow_readers import SlowReaders  # noqa: E402

# WhiteNoise reads a static file in pieces, which Django remarks upon each time it starts.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

application = HyphenatedHeaders(
    ProtocolTypeRouter(
        {
            # A stream may last for days, and has a deadline for each event instead.
            "http": BodyLimit(EventStreams(SlowReaders(ReadableAsgi(_django)))),
            "websocket": URLRouter(import_string("relay.urls.sockets")),
        }
    )
)
