"""Builds the application that granian serves under ASGI: everything, including long polls and
WebSockets."""

import os
import warnings

from django.core.asgi import get_asgi_application

from wake.server.http.headers import HyphenatedHeaders, ReadableAsgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")
_django = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 - settings are ready now
from django.conf import settings  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402

from wake.api.event_streams import EventStreams  # noqa: E402
from wake.server.http.body_limit import BodyLimit  # noqa: E402
from wake.server.http.request_turns import RequestTurns  # noqa: E402
from wake.server.http.slow_readers import SlowReaders  # noqa: E402
from wake.server.metrics import serving  # noqa: E402
from wake.server.metrics.endpoint import with_metrics  # noqa: E402
from wake.server.telemetry.request_log import RequestLog  # noqa: E402

# WhiteNoise reads a static file in pieces, and Django warns about that at each start.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

application = with_metrics(
    HyphenatedHeaders(
        RequestLog(
            ProtocolTypeRouter(
                {
                    # A stream may last for days. A stream has a deadline for each event instead.
                    "http": BodyLimit(
                        RequestTurns(
                            EventStreams(SlowReaders(ReadableAsgi(_django))),
                            number=settings.WAKE_MAX_REQUESTS,
                        )
                    ),
                    "websocket": URLRouter(import_string("relay.urls.sockets")),
                }
            )
        )
    )
)
serving.serve()
