"""The release workflow is well-formed, pins what it uses, and stores no secret.

Nothing runs it here. Its first run is the first release."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import versions
from tests.fixtures.peers import environment
from tests.wake.server.up import ROOT

SOURCE = (ROOT / ".github/workflows/release.yml").read_text()
WORKFLOW: dict[Any, Any] = yaml.safe_load(SOURCE)
JOBS: dict[str, Any] = WORKFLOW["jobs"]
PUBLISHING = {"image", "chart", "pypi", "npm"}


@pytest.mark.once
@pytest.mark.system
def test_actionlint_and_zizmor_find_nothing(tmp_path: Path) -> None:
    programs = environment(Path(__file__).parent / "peers/workflows") / "bin"
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    (tmp_path / ".git").mkdir()  # actionlint looks for a repository
    workflow = tmp_path / ".github/workflows/release.yml"

    zizmor = _run(programs / "zizmor", "--offline", "--persona=pedantic", ".", cwd=tmp_path)
    # actionlint knows the inputs of an action by its version, but not by its commit.
    workflow.write_text(re.sub(r"@[0-9a-f]{40} # (v\d+)\S*", r"@\1", SOURCE))
    actionlint = _run(programs / "actionlint", "-shellcheck=", "-pyflakes=", cwd=tmp_path)
    workflow.write_text(workflow.read_text().replace("platforms:", "platform:"))
    wrong = _run(programs / "actionlint", "-shellcheck=", "-pyflakes=", cwd=tmp_path)

    assert zizmor.returncode == 0, zizmor.stdout
    assert actionlint.returncode == 0, actionlint.stdout
    assert 'input "platform" is not defined' in wrong.stdout


def test_every_action_is_pinned_by_its_commit_and_names_its_version() -> None:
    used = re.findall(r"uses: (.*)", SOURCE)

    assert len(used) > len(JOBS)
    for one in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one), one
    # One action has one commit.
    assert len(set(used)) == len({one.partition("@")[0] for one in used})


def test_a_job_has_only_the_rights_that_it_needs() -> None:
    rights = {name: job["permissions"] for name, job in JOBS.items()}

    assert WORKFLOW["permissions"] == {}
    assert "secrets." not in SOURCE
    assert {name for name, given in rights.items() if "id-token" in given} == PUBLISHING
    assert {name for name, job in JOBS.items() if "environment" in job} == PUBLISHING
    assert rights["pypi"] == rights["npm"] == {"id-token": "write"}
    for name in ("pypi", "npm"):  # what is built and installed elsewhere sees no token
        assert "checkout" not in str(JOBS[name])
    for name, job in JOBS.items():
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"] == {"persist-credentials": False}, name


def test_nothing_is_published_before_the_versions_agree() -> None:
    def before(job: str) -> set[str]:
        needed = JOBS[job].get("needs")
        return {needed} | before(needed) if needed else set()

    assert all("versions" in before(job) for job in PUBLISHING)
    (step,) = [step for step in JOBS["versions"]["steps"] if "run" in step]
    assert step["run"].startswith("python3 deploy/versions.py ")


def test_the_image_is_built_for_two_platforms_with_what_its_labels_name() -> None:
    (build,) = [step["with"] for step in JOBS["image"]["steps"] if step.get("id") == "build"]
    arguments = set(re.findall(r"^(\w+)=", build["build-args"], re.MULTILINE))

    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["sbom"], build["provenance"]) == (True, "mode=max")
    assert arguments == set(re.findall(r'="\$(\w+)"', (ROOT / "Dockerfile").read_text()))


def test_the_next_release_lacks_only_its_date(tmp_path: Path) -> None:
    """The versions change with the first commit after a release, so that servers and backups of
    this code do not name the previous release."""
    newest = re.search(r"^## (\S+) - (\S+)$", (ROOT / versions.CHANGELOG).read_text(), re.M)
    assert newest
    for file, _ in versions.versions(ROOT):
        copy = tmp_path / file.partition(",")[0]
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((ROOT / copy.relative_to(tmp_path)).read_text())
    changelog = tmp_path / versions.CHANGELOG
    heading = f"## {newest[1]} - 2026-12-24"
    changelog.write_text(changelog.read_text().replace(newest[0], heading, 1))

    assert versions.main(newest[1], tmp_path) == 0


def test_a_package_with_another_version_stops_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {file.partition(",")[0]: found for file, found in versions.versions(ROOT)}
    for file, found in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / file).read_text().replace(found, "0.9.1")
        (tmp_path / file).write_text(re.sub(r"^## .*", "## 0.9.1 - 2026-12-24", text, flags=re.M))

    assert versions.main("0.9.1", tmp_path) == 0
    assert versions.main("0.9.2", tmp_path) == 1
    told = capsys.readouterr().err
    assert all(f"This is not 0.9.2: {file}" in told for file in files)


def _run(program: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *words], cwd=cwd, capture_output=True, text=True)
