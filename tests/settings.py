"""Changes the project's settings to a separate database and data folder for each run."""

import os
import tempfile
from pathlib import Path

RUN = os.getpid()  # each worker of xdist is a process, with a folder and a database of its own
os.environ["WAKE_DATA"] = str(Path(tempfile.gettempdir()) / f"wake-tests-{RUN}")
os.environ["WAKE_DEV"] = "1"
# Tests of Redis find it there by themselves; no other test may, because each empties the cache.
_redis_url = os.environ.pop("REDIS_URL", "")

from wake.settings import *  # noqa: E402, F403
from wake.settings import DATABASES, STORAGES, WAKE_DATA  # noqa: E402

os.environ["REDIS_URL"] = _redis_url

# A file on SQLite too: an in-memory database is one connection, and its threads never meet.
DATABASES["default"]["TEST"] = {
    "NAME": f"test_wake_{RUN}"
    if os.environ.get("DATABASE_URL")
    else str(WAKE_DATA / "test.sqlite3")
}
if os.environ.get("DATABASE_URL"):
    # To make and drop a database may take a busy machine longer than any request may take. Nothing
    # here outlives the server, so that a commit need not wait for its disk.
    DATABASES["default"]["OPTIONS"]["options"] += (
        " -c statement_timeout=60000 -c synchronous_commit=off"
    )
# pytest-django's live server finds static files by their own names, not by hashed ones.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = True
