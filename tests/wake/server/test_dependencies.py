"""`make audit` never calls a package safe if it could not look the package up. `make sbom` lists
everything."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy import locks
from tests import advisories
from tests.advisories import NOT_CHECKED, NOTHING_CHECKED, SAFE, VULNERABLE, judged
from tests.wake.server.up import ROOT

pytestmark = pytest.mark.once
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_an_advisory_is_named_with_the_version_that_fixes_it() -> None:
    lines, code = judged(
        [
            {"name": "idna", "version": "3.10", "vulns": []},
            {
                "name": "django",
                "version": "5.2.1",
                "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["5.2.19"]}],
            },
        ]
    )

    assert code == VULNERABLE
    assert lines[0] == "django 5.2.1: PYSEC-2026-1, fixed in 5.2.19"


def test_dependencies_without_advisories_pass() -> None:
    assert judged([{"name": "idna", "version": "3.10", "vulns": []}])[1] == SAFE


def test_a_dependency_that_could_not_be_checked_is_reported() -> None:
    unknown: dict[str, object] = {"name": "idna", "skip_reason": "not found on PyPI"}
    checked: dict[str, object] = {"name": "django", "version": "5.2.19", "vulns": []}

    lines, code = judged([unknown, checked])

    assert code == NOT_CHECKED
    assert lines == ["NOT CHECKED: not found on PyPI", "2 dependencies: 0 advisories, 1 unknown"]


@pytest.mark.parametrize("report", [[], [{"name": "idna", "skip_reason": "not found on PyPI"}] * 9])
def test_it_says_that_nothing_was_checked(report: list[dict[str, object]]) -> None:
    """Nine output lines about dependencies that could not be found used to look like the result of
    the check."""
    lines, code = judged(report)

    assert code == NOTHING_CHECKED
    assert lines[0].startswith("NOTHING WAS CHECKED")
    assert len(lines) <= 2


@pytest.mark.slow
def test_without_network_it_says_that_nothing_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("HOME", str(tmp_path))  # without a cache of earlier answers

    assert advisories.main() == NOTHING_CHECKED
    assert capsys.readouterr().out.startswith("NOTHING WAS CHECKED")


@pytest.mark.system
def test_the_sbom_has_every_locked_dependency_with_its_version(tmp_path: Path) -> None:
    recipe = re.search(r"^sbom:.*\n\t@?(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    command = recipe[1].replace("$(BIN)", ".venv/bin").replace("sbom.cdx.json", "$OUTPUT")
    output = tmp_path / "sbom.cdx.json"

    subprocess.run(
        ["/bin/sh", "-c", command.replace("$OUTPUT", shlex.quote(str(output)))],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )

    sbom = json.loads(output.read_text())
    locked = {(name, version) for name, _, version in _locked("requirements-image.lock")}
    assert (sbom["bomFormat"], sbom["metadata"]["component"]["name"]) == ("CycloneDX", "wake")
    assert {(one["name"], one["version"]) for one in sbom["components"]} == locked


def test_the_image_has_the_runtime_and_the_extras() -> None:
    extras = [Requirement(text) for texts in EXTRAS.values() for text in texts]
    others = set(_locked("requirements-image.lock")) - set(_locked("requirements.lock"))
    versions = {name: version for name, _, version in others}

    assert set(_locked("requirements.lock")) < set(_locked("requirements-image.lock"))
    assert all(extra.specifier.contains(versions[extra.name]) for extra in extras)
    assert "--requirement requirements-image.lock" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-image.lock", "requirements-dev.lock"]
)
def test_the_lock_names_the_extras_that_packages_ask_for(lock: str) -> None:
    """Without the extras, pip 23.2 takes the newest version of `coverage[toml]`, and refuses it
    because the lock has no hash for that version."""
    extras: dict[str, set[str]] = {}
    for name, names, _ in _locked(lock):
        extras.setdefault(canonicalize_name(name), set()).update(re.findall(r"[\w-]+", names))

    missing = [
        f"{name} asks for {wanted}"
        for name in extras
        for wanted in map(Requirement, _requires(name))
        if not wanted.marker or wanted.marker.evaluate({"extra": ""})
        if not wanted.extras <= extras[canonicalize_name(wanted.name)]
    ]

    assert "psycopg" in extras
    assert missing == []


@pytest.mark.parametrize("lock", ["requirements-image.lock", "requirements-dev.lock"])
def test_pip_finds_pydantic_with_its_extra_and_without(lock: str) -> None:
    text = (ROOT / lock).read_text()

    assert {extra for name, extra, _ in _locked(lock) if name == "pydantic"} == {"", "[email]"}
    assert locks.repeated(text) == text


def _locked(lock: str) -> list[tuple[str, str, str]]:
    """Returns each package, as `("whitenoise", "[brotli]", "6.12.0")`."""
    return re.findall(
        r"^([\w.-]+)(\[[^\]]+\])?==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE
    )


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # locked for another platform
        return []
