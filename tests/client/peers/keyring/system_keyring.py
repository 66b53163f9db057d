"""Is the keyring of the system: a file that shows what is in it. It is locked while a file
beside it says so."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

STORED = Path(os.environ["KEYRING_FILE"])


class SystemKeyring(KeyringBackend):
    priority = 5

    def get_password(self, service, username):
        return self._read().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        self._write({**self._read(), f"{service}/{username}": password})

    def delete_password(self, service, username):
        stored = self._read()
        if stored.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError(username)
        self._write(stored)

    def _read(self):
        if STORED.with_suffix(".locked").exists():
            raise KeyringLocked("It is locked.")
        return json.loads(STORED.read_text()) if STORED.exists() else {}

    def _write(self, stored):
        STORED.write_text(json.dumps(stored))
