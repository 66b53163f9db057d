"""Says where the metrics are served. Without these variables nothing is measured."""

import os

from wake.server.settings import env

MIN_TOKEN_LENGTH = 16

WAKE_METRICS_PORT = env.number("WAKE_METRICS_PORT", default=0, low=0, high=65535)
WAKE_METRICS_HOST = os.environ.get("WAKE_METRICS_HOST", "").strip() or "127.0.0.1"
WAKE_METRICS_TOKEN = env.secret_text("WAKE_METRICS_TOKEN")
if WAKE_METRICS_TOKEN and len(WAKE_METRICS_TOKEN) < MIN_TOKEN_LENGTH:
    raise env.BadVariable(
        f"WAKE_METRICS_TOKEN must have at least {MIN_TOKEN_LENGTH} characters, because anyone may"
        " guess it."
    )
WAKE_METRICS = bool(WAKE_METRICS_PORT or WAKE_METRICS_TOKEN)
