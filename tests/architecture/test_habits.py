"""The code keeps the rules that import-linter cannot see: strings, reverse relations and
templates.

pyproject.toml has the contracts that import-linter holds."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from django.apps import apps

from tests.architecture.sources import (
    APPS,
    CHECK,
    CLIENT,
    OTHER_CODE,
    PAGES,
    ROOT,
    SOURCES,
    TESTS,
    calls,
    name,
    nodes,
)

pytestmark = pytest.mark.once

MAX_LINES = 400  # one concept may need a long file, but two concepts may not share one
MAX_LINES_OF_TESTS = 500
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
VERBS = [
    module
    for contract in CONTRACTS
    if contract["name"].startswith("Verbs and models")
    for module in contract["source_modules"]
    if module.startswith("wake.")
]
# Only these modules put the server together, so only here may an app name a higher one.
PUT_TOGETHER = {
    "wake/server/asgi.py",
    "wake/server/work/celery.py",
    "wake/settings.py",
    "wake/urls.py",
}

# Names that earlier versions stored or sent, and that this version has to read.
NAMES_OF_EARLIER_VERSIONS = {
    "inbox.password_resets.ResetTokens",
    "inbox.people.settings.preferences.WithPreferences",
    "inbox.jobs.send_due_address_changes",
    "inbox.jobs.send_due_invitations",
    "inbox.jobs.send_due_passkey_notices",
    "inbox.jobs.send_due_resets",
}


def in_app(app: str) -> list[Path]:
    return [path for path in SOURCES if path.is_relative_to(ROOT / app)]


def relations_made_above(app: str) -> set[str]:
    """Returns what models of higher apps add to models of lower ones, such as `readings` on a
    delivery."""
    upto = APPS[: APPS.index(app) + 1]
    above = APPS[APPS.index(app) + 1 :]
    return {
        accessor
        for lower in upto
        for model in apps.get_app_config(lower).get_models()
        for relation in model._meta.related_objects
        if relation.related_model._meta.app_label in above
        and (accessor := relation.get_accessor_name())
    }


def test_the_sources_are_found() -> None:
    assert len(SOURCES) > 60
    assert len(PAGES) > 5
    assert "readings" in relations_made_above("wake")
    assert "deliveries" in relations_made_above("accounts")


@pytest.mark.parametrize("app", APPS[:-1])
def test_no_app_names_one_above_it_in_a_string(app: str) -> None:
    above = "|".join(APPS[APPS.index(app) + 1 :])
    module = re.compile(rf"(?:{above})(?:\.\w+)+")

    violations = [
        f"{name(path)}: {node.value}"
        for path in in_app(app)
        if name(path) not in PUT_TOGETHER
        for node in nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and module.fullmatch(node.value)
        and node.value not in NAMES_OF_EARLIER_VERSIONS
    ]

    assert violations == []


@pytest.mark.parametrize("app", APPS[:-1])
def test_no_app_follows_a_relation_that_one_above_it_made(app: str) -> None:
    relations = relations_made_above(app)

    def follows(node: ast.AST) -> str | None:
        match node:
            case ast.Attribute(attr=attr, value=ast.Name(id=owner)) if attr in relations:
                # `wake.responses` is a module. The relation `user.responses` has the same name.
                return None if owner in APPS else attr
            case ast.Attribute(attr=attr) if attr in relations:
                return attr
            case ast.keyword(arg=str(arg)) if "__" in arg and arg.split("__")[0] in relations:
                return arg
            case ast.Constant(value=str(text)) if "__" in text and text.split("__")[0] in relations:
                return text
        return None

    violations = [
        f"{name(path)}: {followed}"
        for path in in_app(app)
        for node in nodes(path)
        if (followed := follows(node))
    ]

    assert violations == []


@pytest.mark.parametrize("module", VERBS)
def test_verbs_and_models_know_nothing_of_requests(module: str) -> None:
    place = module.replace(".", "/")
    paths = [path for path in SOURCES if name(path).startswith((f"{place}.py", f"{place}/"))]
    tree = [node for path in paths for node in nodes(path)]
    imported = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]

    assert imported
    for web in ("django.http", "django.shortcuts", "django.urls", "django.views"):
        assert not [one for one in imported if one.startswith(web)]


def test_views_find_things_by_the_adjectives_of_querysets() -> None:
    views = [path for path in SOURCES if path.stem == "views" or path.stem.endswith("_views")]
    assert len(views) > 30

    violations = [
        f"{name(path)}:{call.lineno}"
        for path in views
        for called, call in calls(path)
        if called in {"filter", "exclude", "raw", "extra"}
    ]

    assert violations == []


def test_jobs_are_one_line_long() -> None:
    jobs = [
        function
        for path in SOURCES
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef)
        and any("shared_task" in ast.unparse(one) for one in function.decorator_list)
    ]
    assert len(jobs) >= 4

    for job in jobs:
        words = [one for one in job.body if not isinstance(one, ast.Expr | ast.Assign | ast.Return)]
        assert not words, job.name
        assert len(job.body) - bool(ast.get_docstring(job)) <= 2, job.name


def test_waits_live_in_rows_and_never_in_celery() -> None:
    violations = [
        f"{name(path)}:{call.lineno}"
        for path in SOURCES
        for called, call in calls(path)
        if {"eta", "countdown"} & {keyword.arg for keyword in call.keywords} or called == "retry"
    ]

    assert violations == []


def is_fixed(text: ast.expr) -> bool:
    """Says whether the source fixes the value: a literal, a constant, or one of two such values."""
    match text:
        case ast.IfExp(body=body, orelse=orelse):
            return is_fixed(body) and is_fixed(orelse)
        case ast.Name(id=known):
            return known.isupper()
    return isinstance(text, ast.Constant)


def test_markup_is_called_safe_in_one_place_only() -> None:
    def is_trusting(called: str, call: ast.Call) -> bool:
        if called == "format_html":
            return not is_fixed(call.args[0])
        return called in {"mark_safe", "SafeString", "SafeText"} and bool(call.args)

    violations = {
        name(path) for path in SOURCES for called, call in calls(path) if is_trusting(called, call)
    }

    assert violations == {"inbox/rendering/details.py"}


@pytest.mark.parametrize(
    "habit",
    [
        r"\|\s*safe\b",
        r"autoescape\s+off",
        r"\sstyle\s*=",
        r"<style\b",
        r"<script(?![^>]*\bsrc=)",
        r"\son[a-z]+\s*=",
        r"javascript:",
    ],
)
def test_no_page_has_anything_inline_or_unescaped(habit: str) -> None:
    violations = [name(page) for page in PAGES if re.search(habit, page.read_text(), re.IGNORECASE)]

    assert violations == []


def test_comments_of_templates_are_on_one_line() -> None:
    """Django prints a comment of several lines on the page."""
    several_lines = re.compile(r"\{#(?:(?!#\}).)*$", re.MULTILINE)

    assert [name(page) for page in PAGES if several_lines.search(page.read_text())] == []


def test_scripts_write_no_markup() -> None:
    habit = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")

    violations = [
        name(path) for path in (ROOT / "static/js").glob("*.js") if habit.search(path.read_text())
    ]

    assert violations == []


def test_colours_are_tokens() -> None:
    colour = re.compile(
        r"#[0-9a-f]{3,8}\b(?=[^{]*[;}])|\brgba?\(|\bhsla?\(|\boklch\(", re.IGNORECASE
    )
    sheets = set((ROOT / "static/css").glob("*.css")) - {ROOT / "static/css/tokens.css"}
    assert sheets

    violations = [name(path) for path in sheets if colour.search(path.read_text())]

    assert violations == []


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ([*SOURCES, *CLIENT.rglob("*.py"), *CHECK.rglob("*.py"), *OTHER_CODE], MAX_LINES),
        (TESTS, MAX_LINES_OF_TESTS),
    ],
)
def test_no_file_is_too_long(files: list[Path], most: int) -> None:
    long = {name(path): lines for path in files if (lines := lines_of(path)) > most}

    assert long == {}


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_module_has_a_catch_all_name() -> None:
    violations = [
        name(path)
        for path in SOURCES
        if path.stem in {"utils", "helpers", "services", "common", "base", "misc"}
    ]

    assert violations == ["database/postgresql/base.py"]  # Django imports a backend by this name


def test_code_asks_the_database_for_the_time() -> None:
    """A machine's own clock may be wrong, so code asks the database. SQLite has no clock of its
    own, and uses the clock of the machine (database/clock.py)."""
    own_clock = re.compile(r"timezone\.now\(\)|datetime\.(?:now|utcnow|today)\(|date\.today\(")
    violations = [
        name(path)
        for path in SOURCES
        if own_clock.search(path.read_text()) and name(path) != "database/clock.py"
    ]

    assert violations == []
