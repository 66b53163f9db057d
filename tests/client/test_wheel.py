"""The wheel has both commands, the license and its metadata."""

from __future__ import annotations

import email
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.client.connector.relay import CLIENT
from tests.fixtures import peers

HATCHLING = Path(__file__).parent / "peers" / "hatchling"
pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Builds the wheel, and returns its files without the name of the version."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [*peers.command(HATCHLING), str(folder)]
    built = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(folder / built.stdout) as archive:
        return {
            name.partition(".dist-info/")[2] or name: archive.read(name).decode()
            for name in archive.namelist()
        }


def test_the_command_has_the_name_of_the_package_too(wheel: dict[str, str]) -> None:
    """`uvx wake-client` used to end with a hint to another command."""
    assert wheel["entry_points.txt"].splitlines() == [
        "[console_scripts]",
        "wake = wake_client.__main__:main",
        "wake-client = wake_client.__main__:main",
    ]


def test_the_license_is_in_the_wheel(wheel: dict[str, str]) -> None:
    license = (CLIENT.parent / "LICENSE").read_text()

    assert wheel["licenses/LICENSE"] == license
    assert "Permission is hereby granted" in license


def test_the_metadata_describes_the_package(wheel: dict[str, str]) -> None:
    metadata = email.message_from_string(wheel["METADATA"])

    assert metadata["Name"] == "wake-client"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert "# wake-client" in metadata.get_payload()


def test_only_the_package_is_installed(wheel: dict[str, str]) -> None:
    packages = {name.partition("/")[0] for name in wheel if name.endswith(".py")}

    assert packages == {"wake_client"}
    assert "wake_client/py.typed" in wheel
