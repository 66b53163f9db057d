"""Reads the chart, its three examples of values, and the golden files: what Helm makes of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.wake.server.up import ROOT

CHART = ROOT / "deploy/helm/wake"
GOLDEN = Path(__file__).parent / "golden"
EXAMPLES = ("small", "usual", "everything")
SERVERS = ("web", "stream")
Object = dict[str, Any]


def example(name: str) -> Path:
    return CHART.parent / f"{name}.yaml"


@cache
def golden(name: str) -> list[Object]:
    """Returns the objects that Helm makes of an example."""
    return [one for one in yaml.safe_load_all((GOLDEN / f"{name}.yaml").read_text()) if one]


def of_kind(name: str, kind: str) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in golden(name) if one["kind"] == kind}


def pods(name: str) -> dict[str, Object]:
    """Returns the specification of each pod by its role, that of `migrate` included."""
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"]
        for one in golden(name)
        if one["kind"] in {"Deployment", "Job"}
    }


def container(pod: Object) -> Object:
    """Returns the only container of a pod."""
    (only,) = pod["containers"]
    return dict(only)


def environment(pod: Object) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container(pod)["env"]}
