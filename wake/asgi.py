"""What granian serves under ASGI: everything, long polls too."""

import os
import warnings

from django.core.asgi import get_asgi_application

from wake.content_types import ReadableAsgi

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")
_django = get_asgi_application()

from wake.body_limit import BodyLimit  # noqa: E402 - it reads settings, which are ready only now

# WhiteNoise reads a static file in pieces, which Django remarks upon each time it starts.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

application = BodyLimit(ReadableAsgi(_django))
