"""Builds the package of client-js/ once, and installs its tarball into throw-away projects.

If there is no Node, these tests are skipped with the reason. In CI, they fail.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.client_js.calls import Calls
from tests.client_js.projects import SOURCE, Project, run
from tests.fixtures import peers

# Both folders are copied into the project.
PROGRAMS, EXAMPLES = Path(__file__).parent / "programs", SOURCE / "examples"


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of client-js/ in which its tools are installed. The checkout stays clean."""
    installed = peers.environment(SOURCE)
    folder = tmp_path_factory.mktemp("client-js") / "client-js"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(installed / "node_modules")
    vectors = Path("tests", "client", "digest_vectors.json")
    (folder.parent / vectors).parent.mkdir(parents=True)
    shutil.copy(SOURCE.parent / vectors, folder.parent / vectors)
    return folder


@pytest.fixture(scope="session")
def tarball(workshop: Path) -> Path:
    """Returns the package as it would be published."""
    name = run(["npm", "pack", "--silent"], workshop).split()[-1]
    return workshop / name


@pytest.fixture(scope="session")
def project(tarball: Path, workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Returns a project whose only dependency is the tarball."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    run(
        ["npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", str(tarball)], folder
    )
    for program in (*PROGRAMS.iterdir(), *EXAMPLES.iterdir()):
        shutil.copy(program, folder)
    return Project(folder, workshop)


@pytest.fixture
def start(project: Project) -> Iterator[Callable[..., Calls]]:
    """Returns a function that starts a program which makes the calls of the client."""
    with ExitStack() as programs:

        def begin(command: list[str], **environment: str) -> Calls:
            process = subprocess.Popen(
                command,
                cwd=project.folder,
                env=project.environment(**environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            programs.enter_context(process)  # closes the pipes, and waits for the end
            programs.callback(process.kill)
            return Calls(process)

        yield begin
