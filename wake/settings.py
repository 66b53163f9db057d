"""Reads every setting from the environment: without any, Wake serves one person on SQLite;
DATABASE_URL and REDIS_URL make it ready for a company."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from wake.server import env

BASE_DIR = Path(__file__).resolve().parent.parent

# How this server is run ---------------------------------------------------------------------------

PORT = env.number("PORT", default=8000, low=1, high=65535)
WAKE_DATA = Path(os.environ.get("WAKE_DATA") or BASE_DIR / "data").resolve()
WAKE_ORIGIN = (os.environ.get("WAKE_ORIGIN") or f"http://127.0.0.1:{PORT}").rstrip("/")
DATABASE_URL = os.environ.get("DATABASE_URL", "")
REDIS_URL = os.environ.get("REDIS_URL", "")

_asked_for_development = env.flag("WAKE_DEV")
PRODUCTION = bool(DATABASE_URL or WAKE_ORIGIN.startswith("https://")) and not _asked_for_development
DEVELOPMENT = not PRODUCTION if _asked_for_development is None else _asked_for_development

# Secrets: in production they come from the environment, because several machines must share them;
# else they are made once.
SECRET_KEY = (
    env.secret("WAKE_SECRET_KEY", folder=WAKE_DATA, generate=not PRODUCTION)
    or "unset: checks refuse to start"
)
_encryption_keys = env.secret("WAKE_ENCRYPTION_KEYS", folder=WAKE_DATA, generate=not PRODUCTION)
WAKE_ENCRYPTION_KEYS = [key.strip() for key in _encryption_keys.split(",") if key.strip()]
# What agents and people write, too, and not the signing secrets alone.
WAKE_ENCRYPT_CONTENT = env.flag("WAKE_ENCRYPT_CONTENT") is True

# The protocol (docs/protocol.md names each of these)
# ---------------------------------------------------

WAKE_HOLD_SECONDS = env.number("WAKE_HOLD_SECONDS", default=10, low=0, high=30)
WAKE_QUOTA_LIVE = env.quota("WAKE_QUOTA_LIVE", default="500/50")
WAKE_QUOTA_TEST = env.quota("WAKE_QUOTA_TEST", default="20/5")
WAKE_MAX_BODY_BYTES = env.number("WAKE_MAX_BODY_BYTES", default=262_144, low=1_024, high=16_777_216)
# Files that agents upload, one and all of a team. A proxy must let the largest one pass.
WAKE_MAX_BLOB_BYTES = env.number(
    "WAKE_MAX_BLOB_BYTES", default=10_485_760, low=1_024, high=67_108_864
)
WAKE_MAX_TEAM_BLOB_BYTES = env.number(
    "WAKE_MAX_TEAM_BLOB_BYTES", default=1_073_741_824, low=1_024, high=10**12
)
WAKE_READS_PER_MINUTE = env.number("WAKE_READS_PER_MINUTE", default=1_200, low=1, high=1_000_000)
# A long poll holds a thread: many under ASGI, which has one for each request, few under WSGI, which
# has a handful.
WAKE_MAX_WAITING = env.number("WAKE_MAX_WAITING", default=100, low=0, high=10_000)
# Streams over A2A in one process: all together, and those of one caller.
WAKE_MAX_STREAMS = env.number("WAKE_MAX_STREAMS", default=1_000, low=0, high=100_000)
WAKE_MAX_STREAMS_OF_A_CALLER = env.number(
    "WAKE_MAX_STREAMS_OF_A_CALLER", default=100, low=0, high=100_000
)
# Open pages that one process tells at once what is new; 0 turns it off, and pages ask.
WAKE_MAX_INBOX_STREAMS = env.number("WAKE_MAX_INBOX_STREAMS", default=1_000, low=0, high=100_000)
# What comes over A2A brings files along; a send waits so long for its answer, which is shorter than
# the SDKs' own patience.
WAKE_MAX_A2A_BYTES = env.number(
    "WAKE_MAX_A2A_BYTES", default=10_485_760, low=1_024, high=67_108_864
)
# What a task and a context may hold, or a caller could fill the disk with calls of that size.
WAKE_MAX_TASK_BYTES = env.number("WAKE_MAX_TASK_BYTES", default=100_000_000, low=1_024, high=10**12)
WAKE_MAX_CONTEXT_BYTES = env.number(
    "WAKE_MAX_CONTEXT_BYTES", default=1_000_000_000, low=1_024, high=10**12
)
WAKE_A2A_WAIT_SECONDS = env.number("WAKE_A2A_WAIT_SECONDS", default=4, low=0, high=30)

# Django -------------------------------------------------------------------------------------------

DEBUG = False
ALLOWED_HOSTS = env.words("WAKE_HOSTS") or [urlsplit(WAKE_ORIGIN).hostname or "127.0.0.1"]
if DEVELOPMENT:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [WAKE_ORIGIN]

INSTALLED_APPS = [
    "relay",
    "inbox",
    "wake",
    "accounts",
    "pages",
    "accounts.admin_site.WithSecondFactor",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_ratelimit",
    "rest_framework",
    "drf_spectacular",
    "csp",
]

# The first three serve everything; the others are the browser's alone and let the protocol past
# (wake/server/http/middleware.py).
MIDDLEWARE = [
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
        },
    }
]

_connections = env.number("WAKE_DATABASE_CONNECTIONS", default=10, low=1, high=200)
# A transaction pooler (PgBouncer) between here and PostgreSQL cannot keep prepared statements.
_prepare = env.flag("WAKE_PREPARED_STATEMENTS") is not False
DATABASES = {
    "default": env.postgresql(DATABASE_URL, connections=_connections, prepare=_prepare)
    if DATABASE_URL
    else env.sqlite(WAKE_DATA / "wake.sqlite3")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES: dict[str, dict[str, Any]]
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "wake",
            # Rate limits fail open (accounts/limits/throttles.py): a frozen Redis may cost a
            # request this long, once.
            "OPTIONS": {"socket_timeout": 0.2, "socket_connect_timeout": 0.2},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
# Formatted details (inbox/rendering/render_cache.py): what agents sent stays out of Redis, and is
# soon forgotten.
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
WHITENOISE_ALLOW_ALL_ORIGINS = False  # no other site needs our files
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "wake.server.static_files.JoinedStaticFiles"},
}

# People -------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["inbox.people.settings.preferences.WithPreferences"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "login"
PASSWORD_RESET_TIMEOUT = 3600
# The relay adds these to the pages of the inbox, which knows nothing of it (pages/panels.py).
WAKE_PANELS = {
    "answer": ["relay.pages.task_panels.answer_status"],
    "agent": ["relay.pages.panels.of_agent"],
    "agents": ["relay.pages.task_panels.of_agents"],
    "connect": ["relay.pages.panels.of_connecting"],
    "delivery": ["relay.pages.task_panels.of_delivery"],
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Signing in with the company's account (docs/sign-in.md), where WAKE_OIDC_ISSUER says whose.
WAKE_OIDC_ISSUER = os.environ.get("WAKE_OIDC_ISSUER", "").strip()
WAKE_OIDC_CLIENT_ID = os.environ.get("WAKE_OIDC_CLIENT_ID", "").strip()
WAKE_OIDC_CLIENT_SECRET = env.secret_text("WAKE_OIDC_CLIENT_SECRET", "WAKE_OIDC_CLIENT_SECRET_FILE")
WAKE_OIDC_NAME = os.environ.get("WAKE_OIDC_NAME", "").strip() or "your company account"
WAKE_OIDC_SCOPES = os.environ.get("WAKE_OIDC_SCOPES", "").strip() or "openid email profile"
WAKE_OIDC_DOMAINS = [domain.lower() for domain in env.words("WAKE_OIDC_DOMAINS")]
WAKE_OIDC_GROUPS = env.group_roles("WAKE_OIDC_GROUPS")
WAKE_OIDC_GROUPS_CLAIM = os.environ.get("WAKE_OIDC_GROUPS_CLAIM", "").strip() or "groups"
WAKE_OIDC_SESSION_HOURS = env.number("WAKE_OIDC_SESSION_HOURS", default=12, low=1, high=720)
# Whether the provider asks everyone for a second factor, and whether it can ask again.
WAKE_OIDC_SECOND_FACTOR = env.flag("WAKE_OIDC_SECOND_FACTOR") is True
WAKE_OIDC_ASKS_AGAIN = env.flag("WAKE_OIDC_ASKS_AGAIN") is not False
WAKE_PASSWORDS = env.flag("WAKE_PASSWORDS") is not False

# Mail, which is digests and links to a new password: by SMTP where EMAIL_HOST says which server; in
# development it is printed instead, and else nothing is sent.
EMAIL_HOST = os.environ.get("EMAIL_HOST", "").strip()
EMAIL_PORT = env.number("EMAIL_PORT", default=587, low=1, high=65535)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
# 465 is TLS from the first byte; everywhere else it is STARTTLS, unless EMAIL_USE_TLS=0 says that
# the way to the server is one's own.
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = not EMAIL_USE_SSL and env.flag("EMAIL_USE_TLS") is not False
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = (
    os.environ.get("EMAIL_FROM", "").strip()
    or f"Wake <wake@{urlsplit(WAKE_ORIGIN).hostname or 'localhost'}>"
)
# Hosts, or host:port, that notifications may go to although their addresses are private.
WAKE_NOTIFICATION_HOSTS = frozenset(env.words("WAKE_NOTIFICATION_HOSTS"))
# Answering in Slack (docs/notifications.md), where all of the first three are set.
WAKE_SLACK_BOT_TOKEN = env.secret_text("WAKE_SLACK_BOT_TOKEN", "WAKE_SLACK_BOT_TOKEN_FILE")
WAKE_SLACK_SIGNING_SECRET = env.secret_text(
    "WAKE_SLACK_SIGNING_SECRET", "WAKE_SLACK_SIGNING_SECRET_FILE"
)
WAKE_SLACK_WORKSPACE = os.environ.get("WAKE_SLACK_WORKSPACE", "").strip()
WAKE_SLACK_API_URL = (
    os.environ.get("WAKE_SLACK_API_URL", "").strip().rstrip("/") or "https://slack.com/api"
)
WAKE_SENDS_MAIL = bool(EMAIL_HOST) or DEVELOPMENT
_mail = "smtp" if EMAIL_HOST else "console" if DEVELOPMENT else "dummy"
EMAIL_BACKEND = f"django.core.mail.backends.{_mail}.EmailBackend"

# Cookies carry the __Host- prefix if the origin is https; on loopback a browser would refuse it.
# wake/server/http/flash_messages.py and accounts/sign_in/known_browsers.py do the same.
_secure = WAKE_ORIGIN.startswith("https://")
SESSION_ENGINE = "accounts.sign_in.session_store"
SESSION_COOKIE_NAME = "__Host-sessionid" if _secure else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if _secure else "csrftoken"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "wake.server.http.flash_messages.Notices"
SESSION_COOKIE_AGE = 7 * 24 * 3600  # without a visit (accounts/sign_in/sessions.py)

SECURE_HSTS_SECONDS = 31_536_000 if _secure else 0
# Only if asked for: other hosts of the domain may belong to others, and have no TLS.
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = (
    _secure and env.flag("WAKE_HSTS_SUBDOMAINS") is True
)
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if _proxy_scheme := os.environ.get("WAKE_PROXY_SCHEME_HEADER", ""):
    SECURE_PROXY_SSL_HEADER = (f"HTTP_{_proxy_scheme.upper().replace('-', '_')}", "https")
_proxy_client = os.environ.get("WAKE_PROXY_CLIENT_HEADER", "")
WAKE_CLIENT_ADDRESS = (
    f"HTTP_{_proxy_client.upper().replace('-', '_')}" if _proxy_client else "REMOTE_ADDR"
)

WAKE_MAX_REPORT_BYTES = 65_536  # of what browsers report to us
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
        "worker-src": [SELF],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["default"],
        # Both, because browsers know one or the other (wake/server/csp_reports.py).
        "report-uri": ["/csp-reports"],
        "report-to": ["csp"],
    }
}

SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains is the operator's choice: WAKE_HSTS_SUBDOMAINS
    "security.W021",
    "security.W008",  # /wake/ refuses plain http instead of redirecting it (spec, threat model)
    # Django looks for its own middleware by name; wake/server/http/middleware.py has subclasses of
    # both that skip the protocol.
    "security.W002",
    "security.W003",
    # Written before Django had a Redis cache; what it asks for, an atomic increment, this one has.
    "django_ratelimit.W001",
]
if not REDIS_URL:
    # One web process, so a cache in its memory is shared enough for django-ratelimit.
    SILENCED_SYSTEM_CHECKS += ["django_ratelimit.E003"]

# The protocol's edge ------------------------------------------------------------------------------

# A request's body may take this long, and one more second for each 64 kB
# (wake/server/http/body_limit.py).
BODY_SECONDS = 10.0

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.authentication.HasKey"],
    "DEFAULT_PARSER_CLASSES": ["wake.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "wake.api.parsers.AlwaysJson",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "WAKE",
    "DESCRIPTION": "Agents deliver work, people answer it, agents pick the answer up.",
    "VERSION": "1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": False,
    "SCHEMA_PATH_PREFIX": "/wake/v1",
    "PREPROCESSING_HOOKS": ["wake.api.openapi.only_the_protocol"],
    "POSTPROCESSING_HOOKS": ["wake.api.openapi.add_the_wire"],
}

# Jobs: the row is the queue, the broker only a doorbell (docs/operations.md) ----------------------

if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 300,
        "socket_timeout": 2,
        "socket_connect_timeout": 1,
        "health_check_interval": 10,
        "global_keyprefix": "wake:",
    }
else:
    CELERY_BROKER_URL = "folder://localhost//"  # wake/server/work/folder_broker.py
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": WAKE_DATA / "broker",
        "data_folder_out": WAKE_DATA / "broker",
        "polling_interval": 0.2,
    }
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_DEFAULT_QUEUE = "wake"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 8
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Every wait is a few seconds and lives in a row, so beat has nothing to remember between two runs.
CELERY_BEAT_SCHEDULER = "wake.server.work.beat:QuietScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "wake.server.log_lines.Line",
            "format": "{asctime} {levelname:<7} {name}: {message}",
            "style": "{",
        }
    },
    "filters": {"expired_jobs": {"()": "wake.server.work.expired_jobs.OneLine"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": os.environ.get("WAKE_LOG_LEVEL", "INFO")},
    "loggers": {
        # One line a second for jobs that found nothing to do is noise.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        # The filter writes one line a minute for jobs that have expired.
        "celery.worker.request": {"filters": ["expired_jobs"]},
        # Django hands its own requests a console of theirs under DEBUG only; ours is the root's.
        "django": {"handlers": [], "level": "INFO"},
        # What a client did wrong is in its own answer.
        "django.request": {"level": "ERROR"},
        # So is a wrong host or a form that is too large, which would bring a traceback each.
        "django.security": {"level": "CRITICAL"},
    },
}
