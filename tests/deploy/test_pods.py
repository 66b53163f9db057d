"""The pods of the chart run as docs/operations.md says: without rights, with secrets as files, and
with the roles of docker-compose.yml."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import yaml

from tests.deploy.chart import (
    CHART,
    EXAMPLES,
    SERVERS,
    container,
    environment,
    golden,
    of_kind,
    pods,
)
from tests.fixtures.served import served
from tests.spec.http.test_production import PRODUCTION
from tests.wake.server.up import ROOT
from wake.server.run.roles import ROLES

OPERATIONS = (ROOT / "docs/operations.md").read_text()
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
REQUIRED = ("DATABASE_URL", "REDIS_URL", "WAKE_SECRET_KEYS", "WAKE_ENCRYPTION_KEYS")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_role_runs_as_in_compose(name: str) -> None:
    shown = pods(name)
    missing = {"web"} if name == "small" else set()

    assert set(shown) == {*ROLES, "migrate"} - missing
    for role, pod in shown.items():
        command = COMPOSE["services"][role]["command"]
        assert container(pod)["args"][: len(command)] == command
        if role != "migrate":
            grace = int(COMPOSE["services"][role]["stop_grace_period"].removesuffix("s"))
            # A server also waits for the proxy to hear that it leaves.
            assert pod["terminationGracePeriodSeconds"] == grace + (5 if role in SERVERS else 0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_pod_has_more_rights_than_it_needs(name: str) -> None:
    for role, pod in pods(name).items():
        ours, only = pod["securityContext"], container(pod)
        rights = only["securityContext"]
        assert (ours["runAsNonRoot"], ours["runAsUser"]) == (True, 10001), role
        assert ours["seccompProfile"] == {"type": "RuntimeDefault"}
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert pod["automountServiceAccountToken"] is False
        written = {one["name"] for one in pod["volumes"] if "emptyDir" in one}
        mounted = {one["mountPath"] for one in only["volumeMounts"] if one["name"] in written}
        assert mounted == {COMPOSE["services"]["web"]["tmpfs"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_service_cannot_set_a_variable_of_wake(name: str) -> None:
    """Kubernetes tells pods the address of each Service in variables. The Service wake-metrics
    would become WAKE_METRICS_PORT=tcp://10.0.0.1:9464."""
    assert {pod["enableServiceLinks"] for pod in pods(name).values()} == {False}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_secret_is_a_file_of_an_existing_secret(name: str) -> None:
    assert of_kind(name, "Secret") == {}
    for role, pod in pods(name).items():
        (volume,) = [one for one in pod["volumes"] if one["name"] == "secrets"]
        files = {
            item["path"]: source["secret"]["name"]
            for source in volume["projected"]["sources"]
            for item in source["secret"]["items"]
        }
        named = {key.removesuffix("_FILE"): path for key, path in environment(pod).items()}
        read = {key for key in named if f"{key}_FILE" in environment(pod)}
        assert set(REQUIRED) <= read == set(files)
        assert all(named[key] == f"/run/secrets/wake/{key}" for key in read)
        owner = "wake-owner" if role == "migrate" and name != "small" else "wake"
        assert files.pop("DATABASE_URL") == owner
        assert set(files.values()) == {"wake"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_problem_of_preflight_stops_the_job_before_it_migrates(name: str) -> None:
    """Both commands have the same environment, as docs/operations.md, Upgrade, says."""
    job = pods(name)["migrate"]
    (preflight,) = job["initContainers"]
    migrate = container(job)

    assert preflight["args"] == ["preflight"]
    assert {**preflight, "name": "migrate", "args": migrate["args"]} == migrate


def test_only_the_servers_connect_through_the_pooler() -> None:
    for role, pod in pods("everything").items():
        is_pooled = role != "migrate"
        assert ("WAKE_DATABASE_POOLED" in environment(pod)) is is_pooled
        assert ("DATABASE_DIRECT_URL_FILE" in environment(pod)) is is_pooled


def test_the_values_know_every_secret_and_no_setting_is_made_up() -> None:
    told = OPERATIONS.partition("These variables can be\nfiles:")[2].partition("\n\n")[0]
    secrets = set(re.findall(r"`([A-Z_]+)`", told))
    lists = {name: set(SCHEMA["$defs"][name].get("enum", ())) for name in SCHEMA["$defs"]}
    documented = set(re.findall(r"`([A-Z_]+)`", OPERATIONS))

    assert lists["requiredSecret"] | lists["furtherSecret"] == secrets
    assert set(REQUIRED) < lists["requiredSecret"]
    for pod in pods("everything").values():
        plain = {key.removesuffix("_FILE") for key in environment(pod)}
        assert plain <= documented
    assert lists["setByTheChart"] <= documented


@pytest.mark.parametrize("name", EXAMPLES)
def test_servers_are_judged_by_healthz_alone(name: str) -> None:
    for role, pod in pods(name).items():
        only = container(pod)
        probes = {key for key in only if key.endswith("Probe")}
        if role not in SERVERS:
            assert probes == set()
            continue
        assert probes == {"startupProbe", "livenessProbe", "readinessProbe"}
        for probe in ("livenessProbe", "readinessProbe"):
            assert only[probe]["httpGet"] == {"path": "/healthz", "port": "http"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.once
@pytest.mark.system
def test_a_new_server_counts_as_started_when_it_reaches_the_database() -> None:
    program = container(pods("small")["stream"])["startupProbe"]["exec"]["command"][2]

    with served("asgi", **PRODUCTION) as origin:
        assert _code(program, origin) == 0
    away = {**PRODUCTION, "WAKE_TEST_DATABASE": "x", "DATABASE_URL": "postgresql://x@127.0.0.1:1"}
    with served("asgi", **away) as origin:
        assert _code(program, origin) == 1


def _code(program: str, origin: str) -> int:
    port = origin.rpartition(":")[2]
    assert "8000" in program
    command = [sys.executable, "-c", program.replace("8000", port)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode


def test_beat_runs_once_and_no_budget_blocks_a_drain() -> None:
    beat = of_kind("everything", "Deployment")["wake-beat"]["spec"]
    budgets = of_kind("usual", "PodDisruptionBudget")

    assert (beat["replicas"], beat["strategy"]) == (1, {"type": "Recreate"})
    assert set(budgets) == {"wake-web", "wake-stream", "wake-worker"}
    assert {one["spec"]["maxUnavailable"] for one in budgets.values()} == {1}
    assert of_kind("small", "PodDisruptionBudget") == {}


def test_web_grows_with_cpu_and_workers_with_the_age_of_due_work() -> None:
    scalers = of_kind("everything", "HorizontalPodAutoscaler")
    (by_cpu,) = scalers["wake-web"]["spec"]["metrics"]
    (by_age,) = scalers["wake-worker"]["spec"]["metrics"]

    assert set(scalers) == {"wake-web", "wake-worker"}
    assert by_cpu["resource"]["name"] == "cpu"
    assert by_age["external"]["metric"]["name"] == "wake_queue_oldest_due_seconds"
    deployments = of_kind("everything", "Deployment")
    assert {name for name, one in deployments.items() if "replicas" not in one["spec"]} == set(
        scalers
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_selector_finds_its_pods(name: str) -> None:
    templates = [
        one["spec"]["template"]["metadata"]["labels"]
        for one in golden(name)
        if one["kind"] in {"Deployment", "Job"}
    ]
    for one in golden(name):
        spec = one["spec"]
        if one["kind"] in {"Deployment", "PodDisruptionBudget"}:
            selector = spec["selector"]["matchLabels"]
        elif one["kind"] == "Service":
            selector = spec["selector"]
        elif one["kind"] == "NetworkPolicy":
            selector = spec["podSelector"]["matchLabels"]
        else:
            continue
        found = [labels for labels in templates if selector.items() <= labels.items()]
        is_for_all = "app.kubernetes.io/component" not in selector
        assert len(found) == (len(templates) if is_for_all else 1), one["metadata"]["name"]


def test_the_pods_are_the_job_that_alerts_and_dashboard_name() -> None:
    """Without `jobLabel`, the Prometheus Operator names the job for the Service."""
    (monitor,) = of_kind("everything", "ServiceMonitor").values()
    wanted = monitor["spec"]["selector"]["matchLabels"]
    services = [one["metadata"]["labels"] for one in of_kind("everything", "Service").values()]
    (labels,) = [each for each in services if wanted.items() <= each.items()]
    alerts = (ROOT / "deploy/prometheus/alerts.yml").read_text()
    dashboard = json.loads((ROOT / "deploy/grafana/wake.json").read_text())
    (variable,) = [one for one in dashboard["templating"]["list"] if one["name"] == "job"]

    job = labels[monitor["spec"]["jobLabel"]]

    assert set(re.findall(r'job="([^"]*)"', alerts)) == {job}
    assert variable["current"]["value"] == job


def test_the_chart_has_the_version_of_the_next_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert newest
    assert chart["version"] == chart["appVersion"] == newest[1]
