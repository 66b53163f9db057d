"""A program that needs no adapter does not load them."""

from __future__ import annotations

import subprocess
import sys

from tests.client.connector.relay import CLIENT


def test_the_package_alone_loads_neither_the_adapters_nor_sqlite() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import wake_client;"
        "print([name for name in sys.modules if 'adapters' in name and 'wake' in name"
        " or 'sqlite3' in name])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(CLIENT)], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
