"""Helm renders the chart as the golden files show, and Kubernetes knows every object.

`make golden` writes the golden files again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.chart import CHART, EXAMPLES, GOLDEN, example, golden
from tests.fixtures.peers import command

pytestmark = [pytest.mark.once, pytest.mark.system]
PEERS = Path(__file__).parent / "peers"
CUSTOM = {"HTTPRoute", "ServiceMonitor"}

# A part of the values that must be refused, and a word of the reason.
REFUSED = {
    "an origin over plain http": ("origin: http://wake.example.com", "origin"),
    "an origin with a path": ("origin: https://example.com/wake", "origin"),
    "no image": ("image: {repository: ''}", "repository"),
    "no Secret": ("secret: {name: ''}", "name"),
    "a secret in the settings": ("settings: {EMAIL_HOST_PASSWORD: x}", "EMAIL_HOST_PASSWORD"),
    "a URL in the settings": ("settings: {DATABASE_URL: x}", "DATABASE_URL"),
    "development": ("settings: {WAKE_DEV: 1}", "WAKE_DEV"),
    "a name in lower case": ("settings: {email_host: x}", "email_host"),
    "a worker with one process": ("worker: {processes: 1}", "processes"),
    "a value that does not exist": ("web: {replica: 3}", "replica"),
    "a monitor without metrics": ("metrics: {serviceMonitor: {enabled: true}}", "metrics"),
    "an Ingress without a certificate": ("ingress: {enabled: true}", "tlsSecretName"),
    "routes without a Gateway": ("gateway: {enabled: true}", "gateway.name"),
}
SMALLEST = {
    "origin": "https://wake.example.com",
    "image": {"repository": "registry.example.com/wake"},
    "secret": {"name": "wake"},
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Any]:
    """Renders all examples and all wrong values in one process."""
    wrong = {
        name: yaml.safe_dump({**SMALLEST, **yaml.safe_load(part)})
        for name, (part, _) in REFUSED.items()
    }
    results: dict[str, Any] = _run(
        [*command(PEERS / "helm", "render"), str(CHART)],
        {**{name: example(name).read_text() for name in EXAMPLES}, **wrong}
        | {"smallest": yaml.safe_dump(SMALLEST)},
    )
    return results


@pytest.mark.parametrize("name", EXAMPLES)
def test_helm_renders_what_the_golden_file_shows(name: str, rendered: dict[str, Any]) -> None:
    templates = sorted(rendered[name]["templates"].items())
    text = "".join(
        f"---\n# {path.partition('/')[2]}\n{source.strip().removeprefix('---').strip()}\n"
        for path, source in templates
        if path.endswith(".yaml") and source.strip()
    )
    file = GOLDEN / f"{name}.yaml"
    if os.environ.get("WAKE_WRITE_GOLDEN"):
        file.write_text(text)

    assert file.read_text() == text


@pytest.mark.parametrize("name", [*EXAMPLES, "smallest"])
def test_helm_and_kubernetes_find_nothing_wrong(name: str, rendered: dict[str, Any]) -> None:
    assert rendered[name]["lint"] == []
    assert rendered[name]["invalid"] == []


def test_the_definitions_of_others_fit() -> None:
    objects = [one for one in golden("everything") if one["kind"] in CUSTOM]
    broken = [{**one, "spec": {**one["spec"], "hostnames": 1, "endpoints": 1}} for one in objects]
    validate = command(PEERS / "custom_resources", "validate")

    assert {one["kind"] for one in objects} == CUSTOM
    assert _run(validate, objects) == []
    assert len(_run(validate, broken)) == len(objects)


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_values_are_refused_with_their_name(name: str, rendered: dict[str, Any]) -> None:
    assert REFUSED[name][1] in rendered[name]["error"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_notes_name_a_server_that_exists(name: str, rendered: dict[str, Any]) -> None:
    notes = rendered[name]["templates"]["wake/templates/NOTES.txt"]
    server = "stream" if name == "small" else "web"

    assert f"exec deploy/wake-{server} -- python manage.py add_person" in notes
    assert f"/services/wake-{server}:http/proxy/readyz" in notes


def _run(words: list[str], given: Any) -> Any:
    done = subprocess.run(words, input=json.dumps(given), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
