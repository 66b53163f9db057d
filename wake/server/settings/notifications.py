"""Connects mail and Slack, which notify people."""

import os
from urllib.parse import urlsplit

from wake.server.settings import env
from wake.server.settings.hosting import DEVELOPMENT, WAKE_ORIGIN

# Mail carries digests and links to set a new password. Mail is sent by SMTP if EMAIL_HOST names a
# server. Without EMAIL_HOST, development prints the mail, and production sends none.
EMAIL_HOST = os.environ.get("EMAIL_HOST", "").strip()
EMAIL_PORT = env.number("EMAIL_PORT", default=587, low=1, high=65535)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env.secret_text("EMAIL_HOST_PASSWORD")
# Port 465 uses TLS from the first byte. Other ports use STARTTLS, unless EMAIL_USE_TLS=0 says that
# the network to the server is trusted.
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = not EMAIL_USE_SSL and env.flag("EMAIL_USE_TLS") is not False
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = (
    os.environ.get("EMAIL_FROM", "").strip()
    or f"Wake <wake@{urlsplit(WAKE_ORIGIN).hostname or 'localhost'}>"
)
# Hosts, or host:port, that notifications may go to although their addresses are private.
WAKE_NOTIFICATION_HOSTS = frozenset(env.words("WAKE_NOTIFICATION_HOSTS"))
# Answering in Slack (docs/notifications.md) is on if the first three are set.
WAKE_SLACK_BOT_TOKEN = env.secret_text("WAKE_SLACK_BOT_TOKEN")
WAKE_SLACK_SIGNING_SECRET = env.secret_text("WAKE_SLACK_SIGNING_SECRET")
WAKE_SLACK_WORKSPACE = os.environ.get("WAKE_SLACK_WORKSPACE", "").strip()
WAKE_SLACK_API_URL = (
    os.environ.get("WAKE_SLACK_API_URL", "").strip().rstrip("/") or "https://slack.com/api"
)
WAKE_SENDS_MAIL = bool(EMAIL_HOST) or DEVELOPMENT
_mail = "smtp" if EMAIL_HOST else "console" if DEVELOPMENT else "dummy"
EMAIL_BACKEND = f"django.core.mail.backends.{_mail}.EmailBackend"
