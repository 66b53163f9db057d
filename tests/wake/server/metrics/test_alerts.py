"""Each alert fires when it should, and says what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.wake.server.metrics.monitoring import (
    ALERTS,
    DASHBOARD,
    METRICS,
    PROMETHEUS,
    expressions,
    names_in,
    program,
)
from tests.wake.server.up import ROOT

pytestmark = pytest.mark.once
SERIES = Path(__file__).with_name("alert_series.yml")


def test_the_alerts_fire_on_the_series_that_they_are_for(tmp_path: Path) -> None:
    for file in (PROMETHEUS / "alerts.yml", SERIES):
        shutil.copy(file, tmp_path)

    tested = subprocess.run(
        [program("promtool"), "test", "rules", SERIES.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr
    fired = set(re.findall(r"alertname: (\w+)\n +exp_alerts:\n", SERIES.read_text()))
    assert fired == {rule["alert"] for rule in ALERTS}
    assert len(ALERTS) == 8


def test_the_example_of_a_configuration_is_valid() -> None:
    checked = subprocess.run(
        [program("promtool"), "check", "config", PROMETHEUS / "prometheus.yml"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_names_a_paragraph_that_says_what_to_do() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    section = text.partition("\n## Alerts\n")[2].partition("\n## ")[0]
    paragraphs = {
        re.sub(r"[^a-z0-9]+", "-", title.lower()): said
        for title, said in re.findall(r"^### (.+)\n\n\*(\w+)\.\*", section, re.M)
    }

    named = {
        rule["annotations"]["runbook"].removeprefix("docs/operations.md#"): rule["alert"]
        for rule in ALERTS
    }

    assert named == paragraphs


def test_alerts_and_dashboard_use_the_metrics_that_are_documented() -> None:
    used = {name for expression in expressions() for name in names_in(expression)}

    assert used == METRICS
    assert all(panel.get("description") for panel in DASHBOARD["panels"] if "targets" in panel)
