"""Renders the chart with Helm's own library, and validates each object with the schemas of
Kubernetes.

Takes the folder of the chart. Reads `{name: text of a values file}` as JSON, and writes for each
name the templates, or the `error`, what `helm lint` found, and the objects that are `invalid`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import kubernetes_validate
import yaml
from helm_python import Chart, HelmError
from helm_python.chart import lint, values_from_yaml

# The oldest version that Chart.yaml allows, and the newest one with schemas.
VERSIONS = ("1.29", kubernetes_validate.latest_version())
# Definitions of others (tests/deploy/peers/custom_resources).
CUSTOM = ("gateway.networking.k8s.io/", "monitoring.coreos.com/")
INFORMATION = 1  # the level of a finding of `helm lint`


def rendered(folder: str, text: str) -> dict[str, Any]:
    values = values_from_yaml(text)
    try:
        with Chart.load(folder) as chart:
            chart.validate_schema(values)
            templates = chart.render(values, name="wake", namespace="wake")
    except HelmError as error:
        return {"error": str(error)}
    report = lint(folder, values, strict=True, namespace="wake", kube_version="v1.29.0")
    found = [one["error"] for one in report["messages"] if one["severity"] > INFORMATION]
    return {"templates": templates, "lint": found, "invalid": list(invalid(templates))}


def invalid(templates: dict[str, str]) -> list[str]:
    wrong = []
    for name, text in templates.items():
        if name.endswith(".txt"):
            continue
        for one in filter(None, yaml.safe_load_all(text)):
            if one["apiVersion"].startswith(CUSTOM):
                continue
            for version in VERSIONS:
                try:
                    kubernetes_validate.validate(one, version, strict=True)
                except (
                    kubernetes_validate.ValidationError,
                    kubernetes_validate.SchemaNotFoundError,
                ) as error:
                    wrong.append(f"{name}, {one['kind']}, {version}: {error.message}")
    return wrong


cases = json.load(sys.stdin)
json.dump({name: rendered(sys.argv[1], text) for name, text in cases.items()}, sys.stdout)
