"""The promises of docs/operations.md and the deployment files hold."""

from __future__ import annotations

import re

from django.core.management import get_commands

from tests.wake.server.up import ROOT
from wake.server.run.roles import ROLES

OPERATIONS = (ROOT / "docs/operations.md").read_text()
COMPOSE = (ROOT / "docker-compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {"accounts", "inbox", "pages", "relay", "wake"}


def test_every_variable_that_the_settings_read_is_explained() -> None:
    modules = [ROOT / "wake/settings.py", *(ROOT / "wake/server/settings").glob("*.py")]
    settings = "".join(module.read_text() for module in modules)
    read = set(re.findall(r'(?:environ\.get\(|env\.\w+\()\s*"([A-Z_]+)"', settings))
    assert {"PORT", "WAKE_ORIGIN", "WAKE_QUOTA_TEST"} <= read

    assert {name for name in read if f"`{name}`" not in OPERATIONS} == set()


def test_every_secret_can_be_a_file_and_the_operator_is_told_which() -> None:
    modules = [*(ROOT / "wake").rglob("*.py")]
    read = {
        name
        for module in modules
        for name in re.findall(r'secret(?:_text)?\(\s*"([A-Z_]+)"', module.read_text())
    }
    told = OPERATIONS.partition("These variables can be\nfiles:")[2].partition("\n\n")[0]
    table = re.findall(r"^\| (`[A-Z_`, ]+`) \|", OPERATIONS, re.MULTILINE)
    named = set(re.findall(r"`([A-Z_]+)`", " ".join(table)))
    secret = r"SECRET|PASSWORD\b|_KEYS?$|TOKEN$|(DATABASE|REDIS|BROKER)_URL$"

    assert set(re.findall(r"`([A-Z_]+)`", told)) == read
    assert {name for name in named if re.search(secret, name)} - read == {"WAKE_PASSWORD"}


def test_every_named_command_exists() -> None:
    named = set(re.findall(r"manage\.py ([a-z_]+)", OPERATIONS))

    assert named - set(get_commands()) == set()
    assert set(re.findall(r"`manage\.py up ([a-z]+)", OPERATIONS)) == set(ROLES)


def test_every_command_has_its_line() -> None:
    ours = {name for name, app in get_commands().items() if app in OURS}

    assert {name for name in ours if f"| `manage.py {name}" not in OPERATIONS} == set()


def test_every_named_container_and_its_command_exist() -> None:
    services = set(re.findall(r"^  (\w+):$", COMPOSE.partition("\nservices:")[2], re.MULTILINE))
    lines = re.findall(r"docker compose ([^`\n|<>]+)", OPERATIONS)
    words = [[word for word in line.split() if not re.match(r"-|\d", word)] for line in lines]
    run = [rest for verb, *rest in words if verb == "run"]
    looked_at = [rest for verb, *rest in words if verb in {"logs", "ps", "restart", "stop"}]

    assert {"worker", "postgres"} <= {name for names in looked_at for name in names} <= services
    assert {names[0] for verb, *names in words if verb in {"exec", "run"}} <= services
    assert {"audit_verify", "shell"} <= {rest[1] for rest in run if rest[1:]} <= set(get_commands())


def test_the_containers_run_every_role_and_carry_no_secret() -> None:
    assert set(re.findall(r"command: \[up, (\w+)", COMPOSE)) == set(ROLES)
    for line in COMPOSE.splitlines():
        name, _, value = line.strip().partition(": ")
        if re.search(r"SECRET|PASSWORD|KEYS", name):
            assert value.startswith("${"), line
    assert not re.search(r"//\w+:[^$@\s]+@", COMPOSE)


def test_the_page_shows_the_configuration_of_the_pooler_word_by_word() -> None:
    shown = re.findall(r"```ini\n(.*?)```", OPERATIONS, re.DOTALL)

    assert shown == [(ROOT / "deploy/pgbouncer.ini").read_text()]


def test_images_of_others_are_pinned_by_digest() -> None:
    images = re.findall(r"^ +image: (\S+)$", COMPOSE, re.MULTILINE)
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)

    others = [image for image in images if image != "wake"]
    assert {image.partition(":")[0] for image in others} == {"python", "postgres", "redis"}
    for image in others:
        assert re.search(r":[0-9.]+[a-z-]*@sha256:[0-9a-f]{64}$", image), image


def test_only_migrate_connects_as_the_owner_of_the_tables() -> None:
    users = re.findall(r"DATABASE_URL: postgresql://(\w+):", COMPOSE)
    migrate = COMPOSE.partition("\n  migrate:\n")[2].partition("\n\n")[0]

    assert users == ["wake_app", "wake"]
    assert "postgresql://wake:" in migrate
    # The servers get all of .env, which includes the owner's password unless a line replaces it.
    shared = COMPOSE.partition("\nx-wake:")[2].partition("\n\n")[0]
    assert "env_file: .env" in shared
    assert re.search(r"^ +POSTGRES_PASSWORD: \$\{NOT_FOR_THE_SERVERS:-\}$", shared, re.MULTILINE)
    assert "--requirepass" in COMPOSE


def test_the_example_names_what_production_needs_and_fills_no_secret_in() -> None:
    example = (ROOT / ".env.example").read_text()

    asked = set(re.findall(r"\$\{(\w+):\?", COMPOSE))
    assert {"WAKE_ORIGIN", "WAKE_ENCRYPTION_KEYS", "POSTGRES_PASSWORD", "REDIS_PASSWORD"} <= asked
    for name in {*asked, "WAKE_SECRET_KEYS"}:
        assert re.search(rf"^{name}=$", example, re.MULTILINE), name


def test_the_image_has_git_only_for_a_server_that_pushes_checkpoints() -> None:
    assert re.search(r"^ARG WITH_GIT=$", DOCKERFILE, re.MULTILINE)
    step = re.search(r'^RUN if \[ -n "\$WITH_GIT" \]; then(.*?)fi$', DOCKERFILE, re.M | re.DOTALL)
    assert step
    assert "git openssh-client" in step[1]
    assert DOCKERFILE.count("apt-get update") == 1
    assert re.search(r"^ +WITH_GIT: \$\{WAKE_CHECKPOINT_GIT:\+1\}( #.*)?$", COMPOSE, re.MULTILINE)
