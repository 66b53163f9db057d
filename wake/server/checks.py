"""Refuses an unsafe production start, and a start with the wrong key, by system checks."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import Error as DatabaseError
from django.db import connection
from psycopg_pool import PoolTimeout

from accounts.log.checkpoints.notes import BadVerifierKey, VerifierKey
from accounts.models import SigningSecret
from database import encryption
from database.postgresql.bounded_connections import LIMITS

SHORTEST_SECRET_KEY = 50
SHORTEST_ENCRYPTION_KEY = 32
SHORTEST_TOKEN = 32
BROKERS = {"amqp", "amqps", "redis", "rediss"}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
HOW_TO_MAKE_ONE = 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


@register(Tags.security)
def production_is_safe(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Returns an error or a warning for each unsafe setting, with a hint that says what to set."""
    if not settings.PRODUCTION:
        return []
    return [*_errors(), *_warnings()]


@register(Tags.security)
def encrypted_content_has_a_key(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Checks the encryption keys, outside production as well. Outside production the keys are
    generated once, and their file may have been removed."""
    if not settings.WAKE_ENCRYPT_CONTENT or settings.WAKE_ENCRYPTION_KEYS:
        return []
    return [
        Error(
            "WAKE_ENCRYPT_CONTENT is on, but there is no encryption key.",
            hint=f"Set WAKE_ENCRYPTION_KEYS to the output of: {HOW_TO_MAKE_ONE}",
            id="wake.E005",
        )
    ]


@register(Tags.security)
def the_sign_in_provider_is_complete(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses an issuer over plain http, which anyone on the network could impersonate. Also
    refuses to turn passwords off while there is no other way to sign in."""
    issuer = settings.WAKE_OIDC_ISSUER
    if not issuer and settings.WAKE_PASSWORDS:
        return []
    if not issuer:
        what = "WAKE_PASSWORDS is 0, and without WAKE_OIDC_ISSUER no one could sign in."
        return [Error(what, hint="Set WAKE_OIDC_ISSUER (docs/sign-in.md).", id="wake.E007")]
    parts = urlsplit(issuer)
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or parts.query or (parts.scheme != "https" and not is_local):
        what = f"WAKE_OIDC_ISSUER must be an https address without a query, not {issuer!r}."
        return [Error(what, hint="Copy it from your provider.", id="wake.E008")]
    if not settings.WAKE_OIDC_CLIENT_ID:
        what = "WAKE_OIDC_ISSUER is set, and WAKE_OIDC_CLIENT_ID is not."
        return [Error(what, hint="Register Wake with the provider first.", id="wake.E009")]
    return []


@register(Tags.security)
def the_directory_is_complete(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses a directory without a sign-in provider, because its people could not sign in."""
    tokens = settings.WAKE_SCIM_TOKENS
    problems = {
        "WAKE_SCIM_TOKEN needs WAKE_OIDC_ISSUER.": not settings.WAKE_OIDC_ISSUER,
        f"Each WAKE_SCIM_TOKEN must have at least {SHORTEST_TOKEN} characters.": any(
            len(token) < SHORTEST_TOKEN for token in tokens
        ),
        "WAKE_SCIM_TOKEN needs a package: pip install 'scim2-server>=0.8.3,<0.9'.": (
            find_spec("scim2_server") is None
        ),
    }
    return [
        Error(what, hint="docs/sign-in.md explains how to connect a directory.", id="wake.E014")
        for what, is_wrong in problems.items()
        if tokens and is_wrong
    ]


@register(Tags.security)
def the_slack_app_is_complete(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses incomplete settings, which would silently turn off answering in Slack."""
    names = ["WAKE_SLACK_SIGNING_SECRET", "WAKE_SLACK_BOT_TOKEN", "WAKE_SLACK_WORKSPACE"]
    missing = [name for name in names if not getattr(settings, name)]
    if not missing or missing == names:
        return []
    what = f"Answering in Slack also needs {' and '.join(missing)}."
    return [Error(what, hint="Set all three (docs/notifications.md), or none.", id="wake.E010")]


@register(Tags.security)
def destinations_of_checkpoints_are_complete(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses settings with which a checkpoint could never be sent."""
    found = [what for is_wrong, what in _problems_of_destinations() if is_wrong]
    return [
        Error(
            what, hint="docs/log.md, Where checkpoints go, explains these settings.", id="wake.E011"
        )
        for what in found
    ]


def _problems_of_destinations() -> Iterator[tuple[bool, str]]:
    secret = settings.WAKE_CHECKPOINT_WEBHOOK_SECRET
    yield (
        bool(settings.WAKE_CHECKPOINT_WEBHOOK) and not _is_signing_secret(secret),
        "WAKE_CHECKPOINT_WEBHOOK needs WAKE_CHECKPOINT_WEBHOOK_SECRET: whsec_ and base64.",
    )
    stamps = bool(settings.WAKE_CHECKPOINT_TIMESTAMPS)
    roots = Path(settings.WAKE_CHECKPOINT_TIMESTAMP_ROOTS)
    yield (
        stamps and not roots.is_file(),
        "WAKE_CHECKPOINT_TIMESTAMPS needs WAKE_CHECKPOINT_TIMESTAMP_ROOTS, a file that is there.",
    )
    yield (
        stamps and find_spec("rfc3161_client") is None,
        "WAKE_CHECKPOINT_TIMESTAMPS needs a package: pip install 'rfc3161-client>=1.0.9,<2'.",
    )
    yield (
        bool(settings.WAKE_CHECKPOINT_GIT) and which("git") is None,
        "WAKE_CHECKPOINT_GIT needs the program git, which is not installed here.",
    )
    for text in settings.WAKE_CHECKPOINT_WITNESSES:
        yield not _is_witness(text), f"WAKE_CHECKPOINT_WITNESSES has no verifier key: {text!r}."


def _is_signing_secret(text: str) -> bool:
    try:
        return text.startswith("whsec_") and bool(b64decode(text[6:], validate=True))
    except ValueError:
        return False


def _is_witness(text: str) -> bool:
    key, _, url = text.partition(" ")
    try:
        VerifierKey.parse(key)
    except BadVerifierKey:
        return False
    return url.strip().startswith(("https://", "http://"))


@register(Tags.database)
def encryption_keys_fit_the_database(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Decrypts the newest and the oldest signing secret. The check runs before a server starts, in
    `migrate`, and in `check --database default`. It reports nothing while the database is away."""
    if "default" not in (databases or ()):
        return []
    secrets = SigningSecret.objects.values_list("ciphertext", flat=True)
    try:
        newest, oldest = secrets.order_by("-pk").first(), secrets.order_by("pk").first()
    except (DatabaseError, PoolTimeout):
        return []
    if not _can_decrypt(newest):
        return [
            Error(
                "None of WAKE_ENCRYPTION_KEYS decrypts the newest signing secret in the database. "
                "With these keys Wake can sign no callback and read no encrypted content.",
                hint="Put the key that this database was last used with back into "
                "WAKE_ENCRYPTION_KEYS (a comma-separated list, newest first). If none was set, it "
                "is in the file wake_encryption_keys of the data folder.",
                id="wake.E006",
            )
        ]
    if not _can_decrypt(oldest):
        return [
            Warning(
                "None of WAKE_ENCRYPTION_KEYS decrypts the oldest signing secret in the database: "
                "a key was removed from the list before everything was encrypted with the newest.",
                hint="Put the older key back at the end of WAKE_ENCRYPTION_KEYS, and run "
                "manage.py rotate_encryption.",
                id="wake.W004",
            )
        ]
    return []


@register(Tags.security)
def the_broker_is_supported(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses a broker that Wake does not know, and RabbitMQ without Redis. Workers find the sign
    of beat in Redis, and limits are counted there."""
    scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
    if scheme == "memory" or (scheme in BROKERS and settings.REDIS_URL):
        return []
    return [
        Error(
            "CELERY_BROKER_URL must begin with amqp://, amqps://, redis:// or rediss://, and needs "
            "REDIS_URL beside it.",
            hint="Leave CELERY_BROKER_URL out to use the Redis of REDIS_URL as the broker "
            "(docs/operations.md, RabbitMQ).",
            id="wake.E015",
        )
    ]


@register(Tags.security)
def a_pooler_can_be_bypassed(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuses a pooler without a way past it. Waiting requests would hear of nothing, and a
    migration would change settings in connections of servers."""
    if not settings.WAKE_DATABASE_POOLED or settings.DATABASE_DIRECT_URL:
        return []
    return [
        Error(
            "WAKE_DATABASE_POOLED is 1, and DATABASE_DIRECT_URL is not set.",
            hint="Set DATABASE_DIRECT_URL to the address of PostgreSQL itself "
            "(docs/operations.md, PgBouncer).",
            id="wake.E012",
        )
    ]


@register(Tags.database)
def limits_are_set_behind_a_pooler(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Compares the settings of a connection through the pooler with LIMITS. The check runs before a
    server starts. It reports nothing while the database is away."""
    options = connection.settings_dict["OPTIONS"]
    is_limited = connection.vendor != "postgresql" or "options" in options
    if "default" not in (databases or ()) or is_limited:
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(LIMITS)]
            )
            found = dict(cursor.fetchall())
    except (DatabaseError, PoolTimeout):
        return []
    wrong = [f"{name} is {found[name]}" for name, value in LIMITS.items() if found[name] != value]
    if not wrong:
        return []
    return [
        Error(
            f"Behind the pooler, the role in DATABASE_URL lacks limits: {', '.join(wrong)}.",
            hint="Run deploy/roles.sql for this role, then RECONNECT in the console of PgBouncer "
            "(docs/operations.md, PgBouncer).",
            id="wake.E013",
        )
    ]


@register(Tags.database, deploy=True)
def connections_are_pooled(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    database = settings.DATABASES["default"]
    is_postgresql = database["ENGINE"].endswith("postgresql")
    if not is_postgresql or database["OPTIONS"].get("pool") or database.get("CONN_MAX_AGE"):
        return []
    return [
        Warning(
            "Each request opens its own connection to PostgreSQL, which takes about 6 ms.",
            hint="Leave OPTIONS['pool'] in wake/settings.py, or set CONN_MAX_AGE.",
            id="wake.W002",
        )
    ]


def _can_decrypt(ciphertext: str | None) -> bool:
    try:
        return ciphertext is None or bool(encryption.decrypt(ciphertext.encode()))
    except encryption.Unreadable:
        return False


def _errors() -> Iterator[Error]:
    why = "This is production, because DATABASE_URL or an https WAKE_ORIGIN is set. "
    if not settings.WAKE_ORIGIN.startswith("https://"):
        yield Error(
            f"{why}WAKE_ORIGIN must be the https address that people and agents use.",
            hint="Set WAKE_ORIGIN=https://wake.example.com; WAKE_DEV=1 if this is no production.",
            id="wake.E001",
        )
    signing_keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if min(map(len, signing_keys)) < SHORTEST_SECRET_KEY:
        yield Error(
            f"{why}WAKE_SECRET_KEYS must be set: newest first, separated by commas, each at least "
            f"{SHORTEST_SECRET_KEY} characters long.",
            hint=f"Set WAKE_SECRET_KEYS to the output of: {HOW_TO_MAKE_ONE}",
            id="wake.E002",
        )
    keys = settings.WAKE_ENCRYPTION_KEYS
    if not keys or min(map(len, keys)) < SHORTEST_ENCRYPTION_KEY:
        yield Error(
            f"{why}WAKE_ENCRYPTION_KEYS must be set: newest first, separated by commas, each at "
            f"least {SHORTEST_ENCRYPTION_KEY} characters long.",
            hint=f"Set WAKE_ENCRYPTION_KEYS to the output of: {HOW_TO_MAKE_ONE}",
            id="wake.E003",
        )
    if not settings.REDIS_URL:
        yield Error(
            f"{why}REDIS_URL must be set: it wakes the workers and counts sign-ins.",
            hint="Set REDIS_URL=redis://HOST:6379/0",
            id="wake.E004",
        )


def _warnings() -> Iterator[Warning]:
    if not settings.DATABASE_URL:
        yield Warning(
            "DATABASE_URL is not set, so this production runs on SQLite: on one machine, with one "
            "web process. Back up its file yourself.",
            hint="Set DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME",
            id="wake.W001",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield Warning(
            "WAKE_HOSTS contains *, so this server accepts any host name. Anyone can point a name "
            "of their own at it and show its pages there.",
            hint="Set WAKE_HOSTS to the names that people and agents use, or leave it out: the "
            "host of WAKE_ORIGIN is enough.",
            id="wake.W003",
        )
