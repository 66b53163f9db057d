"""Compares the locked dependencies with the known vulnerabilities, for `make audit`.

pip-audit asks PyPI, which has the advisories of the Python Packaging Authority. The exit code of
pip-audit is 0 even for packages that it could not look up, so this program reads the report
instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-image.lock"
SAFE, VULNERABLE = 0, 1
# The exit codes if some dependencies could not be checked, and if none could. Make exits with 2 in
# both cases.
NOT_CHECKED, NOTHING_CHECKED = 3, 4
NOTHING = "NOTHING WAS CHECKED: the advisories cannot be read."


def main(lock: Path = LOCK) -> int:
    """Returns 0 if no dependency has a known vulnerability, 1 if one has, 3 if some could not be
    checked, and 4 if none could, as without network."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip_audit", "--requirement", str(lock)),
            *("--disable-pip", "--require-hashes"),
            *("--format", "json", "--progress-spinner", "off"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["pip-audit printed nothing."])[-1]
        sys.stdout.write(f"{NOTHING}\n{reason}\n")
        return NOTHING_CHECKED
    lines, code = judged(report)
    sys.stdout.write("\n".join(lines) + "\n")
    return code


def judged(report: list[dict[str, object]]) -> tuple[list[str], int]:
    """Returns what to print and the exit code, for the `dependencies` of pip-audit's report."""
    vulnerable, skipped = [], []
    for dependency in report:
        if reason := dependency.get("skip_reason"):
            skipped.append(f"NOT CHECKED: {reason}")
        advisories = dependency.get("vulns")
        for advisory in advisories if isinstance(advisories, list) else []:
            versions = " or ".join(advisory["fix_versions"]) or "no version yet"
            vulnerable.append(
                f"{dependency['name']} {dependency['version']}: {advisory['id']}, fixed in "
                f"{versions}"
            )
    if len(skipped) == len(report):
        return [NOTHING, *skipped[:1]], NOTHING_CHECKED
    summary = f"{len(report)} dependencies: {len(vulnerable)} advisories, {len(skipped)} unknown"
    code = VULNERABLE if vulnerable else NOT_CHECKED if skipped else SAFE
    return [*vulnerable, *skipped, summary], code


if __name__ == "__main__":
    sys.exit(main())
