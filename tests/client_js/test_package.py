"""The package of client-js/ is sound: its types follow the server's document, its own tests pass,
and the tarball can be used by every kind of project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client_js.projects import SOURCE, Project, run
from tests.fixtures.strict_client import Client

pytestmark = [pytest.mark.system, pytest.mark.once]


def test_its_own_tests_and_checks_pass(workshop: Path) -> None:
    run(["npm", "run", "--silent", "check"], workshop)
    run(["npm", "test", "--silent"], workshop)


@pytest.mark.django_db
def test_its_types_are_those_of_the_server(workshop: Path, client: Client) -> None:
    """To write the types again: `curl $ORIGIN/wake/v1/openapi.json | npm run wire`."""
    document = client.get("/wake/v1/openapi.json").content.decode()

    run(["npm", "run", "--silent", "wire"], workshop, given=document)

    written, stored = (folder / "src" / "wire.ts" for folder in (workshop, SOURCE))
    assert written.read_text() == stored.read_text()


def test_it_has_no_dependencies(tarball: Path, project: Project) -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    installed = {path.name for path in (project.folder / "node_modules").iterdir()}

    assert package.get("dependencies", {}) == {}
    assert installed - {".bin", ".package-lock.json"} == {"wake-client"}


def test_publint_and_attw_find_nothing(workshop: Path, project: Project, tarball: Path) -> None:
    run([project.tool("publint"), "--strict", str(tarball)], workshop)
    run([project.tool("attw"), "--profile", "esm-only", str(tarball)], workshop)


@pytest.mark.parametrize("lib", ["es2022", "es2022,dom,dom.iterable"])
def test_a_strict_project_compiles(lib: str, project: Project) -> None:
    types = ["--typeRoots", str(project.workshop / "node_modules" / "@types"), "--types", "node"]
    options = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noEmit"]
    module = ["--module", "nodenext", "--target", "es2022", "--lib", lib]

    run([project.tool("tsc"), *options, *module, *types, "typed.mts"], project.folder)
