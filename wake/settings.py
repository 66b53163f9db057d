"""Reads every setting from the environment: without any, Wake serves one person on SQLite;
DATABASE_URL and REDIS_URL make Wake ready for a company.

This module puts the apps together; `wake/server/settings/` has the settings of each subject."""

from typing import Any
from urllib.parse import urlsplit

from wake.server.settings import env
from wake.server.settings.browsers import *  # noqa: F403
from wake.server.settings.checkpoints import *  # noqa: F403
from wake.server.settings.hosting import *  # noqa: F403
from wake.server.settings.hosting import (
    BASE_DIR,
    DATABASE_DIRECT_URL,
    DATABASE_REPLICA_URL,
    DATABASE_URL,
    DEVELOPMENT,
    REDIS_URL,
    WAKE_DATA,
    WAKE_DATABASE_POOLED,
    WAKE_ORIGIN,
)
from wake.server.settings.jobs import *  # noqa: F403
from wake.server.settings.logs import *  # noqa: F403
from wake.server.settings.metrics import *  # noqa: F403
from wake.server.settings.metrics import WAKE_METRICS
from wake.server.settings.notifications import *  # noqa: F403
from wake.server.settings.oauth import *  # noqa: F403
from wake.server.settings.protocol import *  # noqa: F403
from wake.server.settings.sign_in import *  # noqa: F403

DEBUG = False
ALLOWED_HOSTS = env.words("WAKE_HOSTS") or [urlsplit(WAKE_ORIGIN).hostname or "127.0.0.1"]
if DEVELOPMENT:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [WAKE_ORIGIN]

INSTALLED_APPS = [
    "oauth2_provider",  # first, so that accounts/admin can take its models out of the admin
    "relay",
    "inbox",
    "wake",
    "accounts",
    "pages",
    "accounts.sign_in.two_step.admin_site.WithSecondFactor",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_ratelimit",
    "rest_framework",
    "drf_spectacular",
    "csp",
]

# The first four middleware classes serve all requests. The other classes are only for browsers,
# and skip the requests of the protocol (wake/server/http/middleware.py).
MIDDLEWARE = [
    "wake.server.telemetry.request_log.RouteKnown",
    "wake.server.http.slow_readers.ConnectionGivenBack",
    "django.middleware.security.SecurityMiddleware",
    "wake.server.http.middleware.ProtocolOverHttps",
    "wake.server.http.middleware.BrowserHeaders",
    "wake.server.http.middleware.BrowserStaticFiles",
    "wake.server.http.middleware.BrowserCompression",
    "wake.server.http.null_characters.BrowserText",
    "wake.server.http.middleware.BrowserSession",
    "wake.server.http.middleware.BrowserCommon",
    "wake.server.http.middleware.BrowserCsrf",
    "wake.server.http.middleware.BrowserAuthentication",
    "wake.server.http.middleware.BrowserMessages",
    "wake.server.http.middleware.BrowserFrameOptions",
    "wake.server.http.middleware.BrowserContentPolicy",
    "wake.server.http.middleware.PersonsTimeZone",
]
if WAKE_METRICS:
    MIDDLEWARE.insert(0, "wake.server.metrics.requests.RequestDurations")
ROOT_URLCONF = "wake.urls"
WSGI_APPLICATION = "wake.wsgi.application"
ASGI_APPLICATION = "wake.asgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {
                "wake_pages": "pages.template_tags",
                "wake_passkeys": "accounts.sign_in.template_tags",
            },
        },
    }
]

_connections = env.number("WAKE_DATABASE_CONNECTIONS", default=10, low=1, high=200)
# How many requests a process handles at the same time. The others wait for their turn. One
# connection to PostgreSQL is left for /readyz and for streams. SQLite has one writer at a time, and
# with many waiting writers, none knows whose turn it is.
WAKE_MAX_REQUESTS = env.number(
    "WAKE_MAX_REQUESTS",
    default=max(1, _connections - 1) if DATABASE_URL else 4,
    low=1,
    high=env.MAX_REQUESTS,
)
# PgBouncer keeps prepared statements since 1.21.
_prepare = env.flag("WAKE_PREPARED_STATEMENTS") is not False
DATABASES = {
    "default": env.postgresql(
        "DATABASE_URL",
        DATABASE_URL,
        connections=_connections,
        prepare=_prepare,
        is_pooled=WAKE_DATABASE_POOLED,
    )
    if DATABASE_URL
    else env.sqlite(WAKE_DATA / "wake.sqlite3")
}
if DATABASE_URL and DATABASE_DIRECT_URL:
    # database/postgresql reads this entry.
    DATABASES["default"]["DIRECT"] = env.postgresql(
        "DATABASE_DIRECT_URL", DATABASE_DIRECT_URL, connections=_connections, prepare=True
    )
if DATABASE_URL and DATABASE_REPLICA_URL:
    DATABASES["replica"] = env.postgresql(
        "DATABASE_REPLICA_URL",
        DATABASE_REPLICA_URL,
        connections=_connections,
        prepare=_prepare,
        is_pooled=WAKE_DATABASE_POOLED,
    )
    DATABASE_ROUTERS = ["database.postgresql.replica.Router"]
    MIDDLEWARE.append("wake.server.http.middleware.BrowserWrites")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES: dict[str, dict[str, Any]]
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "wake",
            # While Redis is away, there are no rate limits (accounts/limits/throttles.py). A frozen
            # Redis may delay a request this long, once.
            "OPTIONS": {"socket_timeout": 0.2, "socket_connect_timeout": 0.2},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
# Formatted details are cached here (inbox/rendering/render_cache.py). The content of agents stays
# out of Redis, and soon leaves this cache.
CACHES["rendered"] = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "LOCATION": "rendered",
    "TIMEOUT": 15 * 60,
    "OPTIONS": {"MAX_ENTRIES": 100},
}

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"

STATIC_URL = "/static/"
WHITENOISE_ALLOW_ALL_ORIGINS = False  # other sites do not need our files
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WAKE_DOCUMENTATION = BASE_DIR / "built-docs"  # `make docs` builds it, and /docs/ serves it
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "wake.server.static_files.JoinedStaticFiles"},
}

# People -------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.sign_in.backend.PersonBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "login"
PASSWORD_RESET_TIMEOUT = 3600
# The relay adds these to the pages of the inbox, which knows nothing of the relay
# (pages/panels.py).
WAKE_PANELS = {
    "answer": ["relay.pages.task_panels.answer_status"],
    "agent": ["relay.pages.panels.of_agent"],
    "agents": ["relay.pages.task_panels.of_agents"],
    "connect": ["relay.pages.panels.of_connecting"],
    "delivery": ["relay.pages.task_panels.of_delivery"],
    "security": ["accounts.oauth.pages.own_clients.panel"],
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains is the operator's choice: WAKE_HSTS_SUBDOMAINS
    "security.W021",
    "security.W008",  # /wake/ refuses plain http instead of redirecting it (spec, threat model)
    # Django looks for its own middleware by name; wake/server/http/middleware.py has subclasses of
    # both that skip the protocol.
    "security.W002",
    "security.W003",
    # The check of django-ratelimit asks for an atomic increment. Django's own Redis cache has one,
    # but the check is older than that cache and does not know it.
    "django_ratelimit.W001",
    # Plain http is only for a port of the person's own machine (accounts/oauth/clients.py).
    "oauth2_provider.W008",
]
if not REDIS_URL:
    # There is one web process, so a cache in its memory is shared enough for django-ratelimit.
    SILENCED_SYSTEM_CHECKS += ["django_ratelimit.E003"]
