"""Reads the alerts and the dashboard of deploy/, and runs Prometheus and promtool."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.wake.server.up import ROOT, eventually, free_port

PROMETHEUS = ROOT / "deploy/prometheus"
ALERTS = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/wake.json").read_text())
# The names that docs/operations.md lists.
METRICS = set(
    re.findall(r"^\| `((?:wake|http)_\w+)` \|", (ROOT / "docs/operations.md").read_text(), re.M)
)
CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: wake
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: {targets}}}]
"""


def program(name: str) -> str:
    """Returns the path of a program of Debian's package `prometheus`, and skips the test if it is
    not installed."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


def expressions() -> list[str]:
    """Returns the queries of the alerts and of the dashboard, with Grafana's variables replaced."""
    shown = [
        target["expr"].replace("$job", "wake").replace("$__rate_interval", "1m")
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", [])
    ]
    return [rule["expr"] for rule in ALERTS] + shown


def names_in(expression: str) -> set[str]:
    """Returns the metrics of a query, without the suffixes of a histogram."""
    without_labels = re.sub(r"by \([^)]*\)", "", expression)
    found = re.findall(r"\b((?:wake|http)_\w+)(?=[{\[)])", without_labels)
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


class Prometheus:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **parameters: str) -> Any:
        """Returns `data` of an answer of the HTTP API, or None while nothing answers and while
        Prometheus starts, when it answers 503."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
                    return None
                pytest.fail(f"{parameters}: {error.read().decode()}")
        except OSError:
            return None

    def values(self, query: str) -> list[float]:
        found = self.ask("query", query=query)
        return [float(each["value"][1]) for each in found["result"]] if found else []

    def firing(self) -> set[str]:
        found = self.ask("alerts") or {"alerts": []}
        return {
            alert["labels"]["alertname"] for alert in found["alerts"] if alert["state"] == "firing"
        }


@contextmanager
def scraping(folder: Path, port: int, *, alerts: str, token: str) -> Iterator[Prometheus]:
    """Runs a Prometheus that asks this port every second, with the token."""
    configuration = CONFIGURATION.format(targets=json.dumps([f"127.0.0.1:{port}"]), token=token)
    (folder / "prometheus.yml").write_text(configuration)
    (folder / "alerts.yml").write_text(alerts)
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(program("prometheus"), f"--config.file={folder / 'prometheus.yml'}"),
                *(f"--storage.tsdb.path={folder / 'series'}",),
                *(f"--web.listen-address=127.0.0.1:{port}",),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    prometheus = Prometheus(port)
    try:
        eventually(lambda: prometheus.ask("status/runtimeinfo"))
        yield prometheus
    finally:
        process.kill()
        process.wait()
