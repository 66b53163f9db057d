"""For a server in a process of its own that shares a test's database (tests/served.py)."""

import os
from pathlib import Path

from wake.settings import *  # noqa: F403
from wake.settings import DATABASES, STORAGES

DATABASES["default"]["NAME"] = os.environ["WAKE_TEST_DATABASE"]
if collected := os.environ.get("WAKE_TEST_STATIC"):
    STATIC_ROOT = Path(collected)
else:
    # As in tests/settings.py: nobody has collected static files here.
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
