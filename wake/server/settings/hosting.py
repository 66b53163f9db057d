"""Says where this server is reached, where its data lie, and whether it is in production."""

import os
from pathlib import Path

from wake.server.settings import env

BASE_DIR = Path(__file__).resolve().parents[3]

PORT = env.number("PORT", default=8000, low=1, high=65535)
WAKE_DATA = Path(os.environ.get("WAKE_DATA") or BASE_DIR / "data").resolve()
WAKE_ORIGIN = (os.environ.get("WAKE_ORIGIN") or f"http://127.0.0.1:{PORT}").rstrip("/")
DATABASE_URL = env.secret_text("DATABASE_URL")
# A transaction pooler such as PgBouncer is at DATABASE_URL. LISTEN, migrations and backups need a
# session of their own, and connect to DATABASE_DIRECT_URL.
WAKE_DATABASE_POOLED = env.flag("WAKE_DATABASE_POOLED") is True
DATABASE_DIRECT_URL = env.secret_text("DATABASE_DIRECT_URL")
# Pages about the past are read from this replica of PostgreSQL (database/postgresql/replica.py).
DATABASE_REPLICA_URL = env.secret_text("DATABASE_REPLICA_URL")
REDIS_URL = env.secret_text("REDIS_URL")
# Celery itself reads a variable of this name, so Wake has no other name for it.
CELERY_BROKER_URL = env.secret_text("CELERY_BROKER_URL") or REDIS_URL

_asked_for_development = env.flag("WAKE_DEV")
PRODUCTION = bool(DATABASE_URL or WAKE_ORIGIN.startswith("https://")) and not _asked_for_development
DEVELOPMENT = not PRODUCTION if _asked_for_development is None else _asked_for_development

# In production, secrets come from the environment, because several machines must share them.
# Otherwise they are generated once.
SECRET_KEY, *SECRET_KEY_FALLBACKS = env.secret_list(env.secret_text("WAKE_SECRET_KEYS")) or [
    env.secret("WAKE_SECRET_KEY", folder=WAKE_DATA, generate=not PRODUCTION)
    or "unset: checks refuse to start"
]
WAKE_ENCRYPTION_KEYS = env.secret_list(
    env.secret("WAKE_ENCRYPTION_KEYS", folder=WAKE_DATA, generate=not PRODUCTION)
)
# Whether the texts of agents and people are encrypted, in addition to the signing secrets.
WAKE_ENCRYPT_CONTENT = env.flag("WAKE_ENCRYPT_CONTENT") is True
