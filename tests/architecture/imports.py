"""Reads which packages of the project import which others, and draws the imports as Mermaid
text."""

from __future__ import annotations

from functools import cache

import grimp

from tests.architecture.sources import PACKAGES

Graph = dict[str, set[str]]


@cache
def _all_imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def between_apps() -> Graph:
    """Returns the apps with the apps that they import."""
    graph: Graph = {app: set() for app in PACKAGES}
    for importer, imported in _pairs():
        graph[importer.partition(".")[0]].add(imported.partition(".")[0])
    return _without_loops(graph)


def packages() -> list[str]:
    """Returns the apps and every package inside them."""
    parents = {module.rpartition(".")[0] for module in _all_imports().modules}
    return sorted(parents - {""})


def inside(package: str) -> Graph:
    """Returns the packages and modules at the top of a package, with their imports."""
    graph: Graph = {}
    for pair in _pairs():
        at_top = [_at_top(package, module) for module in pair]
        for name in filter(None, at_top):
            graph.setdefault(name, set())
        importer, imported = at_top
        if importer and imported:
            graph[importer].add(imported)
    return _without_loops(graph)


def _at_top(package: str, module: str) -> str:
    """Returns `list` for `inbox.list.views` in `inbox`, or an empty text for a module of another
    package."""
    within = module.removeprefix(f"{package}.")
    return within.partition(".")[0] if within != module else ""


@cache
def _pairs() -> list[tuple[str, str]]:
    imports = _all_imports()
    return [
        (importer, imported)
        for importer in sorted(imports.modules)
        for imported in sorted(imports.find_modules_directly_imported_by(importer))
        if ".migrations" not in importer + imported
    ]


def _without_loops(graph: Graph) -> Graph:
    return {node: following - {node} for node, following in graph.items()}


def knots(graph: Graph) -> list[list[str]]:
    """Returns the groups of nodes in which each node imports all others, directly or through other
    nodes."""
    reached = {node: _reachable(graph, node) for node in graph}
    components = {
        tuple(sorted(other for other in reached[node] if node in reached[other])) for node in graph
    }
    return sorted(list(component) for component in components if len(component) > 1)


def _reachable(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        following = graph[waiting.pop()] - reached
        reached |= following
        waiting.extend(following)
    return reached


def picture(graph: Graph) -> str:
    """Returns a flowchart. An import that others imply is left out: where `list` imports
    `delivery`, and `delivery` imports `models`, no arrow leads from `list` to `models`. A knot is
    drawn whole."""
    arrows = [
        f"  {node} --> {target}"
        for node in sorted(graph)
        for target in sorted(graph[node])
        if not _is_implied(graph, node, target)
    ]
    alone = [f"  {node}" for node in sorted(graph) if not graph[node] | _importers(graph, node)]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, *alone, "```"])


def _is_implied(graph: Graph, node: str, target: str) -> bool:
    return any(
        target in _reachable(graph, other)
        and node not in _reachable(graph, other)
        and other not in _reachable(graph, target)
        for other in graph[node] - {target}
    )


def _importers(graph: Graph, node: str) -> set[str]:
    return {other for other, following in graph.items() if node in following}
