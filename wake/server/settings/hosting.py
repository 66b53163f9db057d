"""Says where this server is reached, where its data lie, and whether it is in production."""

import os
from pathlib import Path

from wake.server.settings import env

BASE_DIR = Path(__file__).resolve().parents[3]

PORT = env.number("PORT", default=8000, low=1, high=65535)
WAKE_DATA = Path(os.environ.get("WAKE_DATA") or BASE_DIR / "data").resolve()
WAKE_ORIGIN = (os.environ.get("WAKE_ORIGIN") or f"http://127.0.0.1:{PORT}").rstrip("/")
DATABASE_URL = os.environ.get("DATABASE_URL", "")
REDIS_URL = os.environ.get("REDIS_URL", "")

_asked_for_development = env.flag("WAKE_DEV")
PRODUCTION = bool(DATABASE_URL or WAKE_ORIGIN.startswith("https://")) and not _asked_for_development
DEVELOPMENT = not PRODUCTION if _asked_for_development is None else _asked_for_development

# In production, secrets come from the environment, because several machines must share them.
# Otherwise they are generated once.
SECRET_KEY = (
    env.secret("WAKE_SECRET_KEY", folder=WAKE_DATA, generate=not PRODUCTION)
    or "unset: checks refuse to start"
)
_encryption_keys = env.secret("WAKE_ENCRYPTION_KEYS", folder=WAKE_DATA, generate=not PRODUCTION)
WAKE_ENCRYPTION_KEYS = [key.strip() for key in _encryption_keys.split(",") if key.strip()]
# Whether the texts of agents and people are encrypted, in addition to the signing secrets.
WAKE_ENCRYPT_CONTENT = env.flag("WAKE_ENCRYPT_CONTENT") is True
