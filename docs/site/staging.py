"""Turns the documents of the repository into the pages that the site generator reads.

The documents are written for a Git host. The generator needs other names for some files, tabs in a
syntax of its own, and the content of list items indented by four spaces.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from markdown_it import MarkdownIt

# Documents outside of docs/, and their names on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "STYLE.md": "style.md",
    "LICENSE": "license.txt",
    "check/README.md": "check.md",
    "client/README.md": "client.md",
    "client-js/README.md": "client-js.md",
}
# Programs that documents link to. The site has them as files, and a page that lists each folder.
PROGRAMS = ("client/examples", "client-js/examples")
INDENT = 4
# Matches a block of code with a fence, or a span of code.
CODE = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[ \t]*$|`(?:(?!\n\n)[^`])+`", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
COMMENT = re.compile(r"^[ \t]*<!--.*?-->\n|<!--.*?-->", re.MULTILINE | re.DOTALL)
TABS = re.compile(r"^<!-- tabs: begin -->\n(.*?)^<!-- tabs: end -->\n", re.MULTILINE | re.DOTALL)
TAB = re.compile(r"^### (.+)\n", re.MULTILINE)
ADAPTERS = "<!-- tabs: a tab for each page of docs/adapters/ -->\n"
# Matches the title of such a page, and its text up to the end of the section "Try it".
FIRST_STEPS = re.compile(
    r"# ([^\n]+)\n(.+?)(?:^## Try it\n(.+?))?(?=^## |\Z)", re.MULTILINE | re.DOTALL
)


class UnknownTarget(Exception):
    """A document links to a file that is not on the site."""


def stage(root: Path, target: Path) -> list[str]:
    """Writes every document below `root` to the folder `target`, with pictures. Returns the names
    of the pages, relative to `target`."""
    docs = root / "docs"
    own = docs / "site"
    files = [path for path in sorted(docs.rglob("*")) if path.is_file() and own not in path.parents]
    files += [path for folder in PROGRAMS for path in sorted((root / folder).glob("*.*"))]
    sources = [str(path.relative_to(root)) for path in files] + list(ELSEWHERE)
    names = {source: ELSEWHERE.get(source, source.removeprefix("docs/")) for source in sources}
    for folder in PROGRAMS:
        index = target / folder / "README.md"
        index.parent.mkdir(parents=True)
        index.write_text(_list_of(root / folder))
        names[f"{folder}/README.md"] = f"{folder}/README.md"
    for source in sources:
        name = names[source]
        page = target / name
        page.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = _linked((root / source).read_text(), source, names, name)
            if ADAPTERS in text:
                text = text.replace(ADAPTERS, _tabs_of_adapters(root, names, name))
            page.write_text(_page(text))
        else:
            shutil.copy(root / source, page)
    return [name for name in names.values() if name.endswith(".md")]


def _list_of(folder: Path) -> str:
    programs = sorted(path.name for path in folder.glob("*.*"))
    return "# Examples\n\n" + "".join(f"- [{name}]({name})\n" for name in programs)


def _tabs_of_adapters(root: Path, names: dict[str, str], page: str) -> str:
    """Returns a section for each adapter, with links that are relative to `page`."""
    sources = [one for one in names if re.fullmatch(r"docs/adapters/[a-z][\w-]*\.md", one)]
    return "".join(_tab_of(root, source, names, page) for source in sorted(sources))


def _tab_of(root: Path, source: str, names: dict[str, str], page: str) -> str:
    match = FIRST_STEPS.match(_linked((root / source).read_text(), source, names, page))
    if match is None:
        raise UnknownTarget(f"{source} has no title.")
    title, words, try_it = match.groups(default="")
    return f"### {title}\n{words}{try_it}\n[The page of {title}]({names[source]}) has the rest.\n\n"


def _linked(text: str, source: str, names: dict[str, str], page: str) -> str:
    """Returns the text of `source` with links that are right on `page`."""
    return _outside_code(text, lambda prose: LINK.sub(_relinked(source, names, page), prose))


def _page(text: str) -> str:
    return _outside_code(_with_tabs(_with_wide_lists(text)), lambda prose: COMMENT.sub("", prose))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Changes the text, but not its blocks and spans of code."""
    parts, end = [], 0
    for match in CODE.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def _relinked(source: str, names: dict[str, str], page: str) -> Callable[[re.Match[str]], str]:
    """Returns a function that replaces the target of a link by the target's name on the site."""

    def relink(match: re.Match[str]) -> str:
        path, hash_sign, anchor = match[2].partition("#")
        if not path or ":" in path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        target = target if target in names else f"{target}/README.md"
        if target not in names:
            raise UnknownTarget(f"{source} links to {path}, which is not on the site.")
        folder = posixpath.dirname(page)
        return f"{match[1]}{posixpath.relpath(names[target], folder)}{hash_sign}{anchor}{match[3]}"

    return relink


def _with_wide_lists(text: str) -> str:
    """Indents the content of list items by four spaces for each level, and puts an empty line
    before each list. A Git host needs neither."""
    lines = text.splitlines()
    items: list[list[int]] = [[] for _ in lines]  # for each line, the widths of the items around it
    first: dict[int, list[int]] = {}  # the items that begin in a line, in the order of their depth
    begins: set[int] = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in {"bullet_list_open", "ordered_list_open"} and token.map:
            begins.add(token.map[0])
        elif token.type == "list_item_open" and token.map:
            begin, end = token.map
            around = sum(items[begin])
            marker = re.match(r"\S+\s*", lines[begin][around:])
            width = len(marker[0]) if marker else 0
            first.setdefault(begin, []).append(width)
            for number in range(begin, end):
                items[number].append(width)
    return "\n".join(_indented(lines, items, first, begins)) + "\n"


def _indented(
    lines: list[str], items: list[list[int]], first: dict[int, list[int]], begins: set[int]
) -> Iterator[str]:
    for number, line in enumerate(lines):
        widths, markers = items[number], first.get(number, [])
        if not widths:
            yield line
            continue
        outer = sum(widths[: len(widths) - len(markers)])
        if number in begins and number and lines[number - 1].strip() and not outer:
            yield ""
        indent = " " * INDENT * (len(widths) - len(markers))
        for width in markers:
            indent += f"{line[outer : outer + width].rstrip():<{INDENT}}"
            outer += width
        yield f"{indent}{line[outer:] if markers else _without(line, outer)}".rstrip()


def _without(line: str, indent: int) -> str:
    """Removes up to `indent` spaces. A continued paragraph may be indented less."""
    return line[min(indent, len(line) - len(line.lstrip())) :]


def _with_tabs(text: str) -> str:
    """Makes tabs of the third-level headings between `<!-- tabs: begin -->` and `<!-- tabs: end
    -->`. On a Git host these sections follow each other."""

    def tabs(match: re.Match[str]) -> str:
        before, *parts = TAB.split(match[1])
        written = [
            f'=== "{title}"\n\n' + "".join(f"    {line}\n" if line else "\n" for line in body)
            for title, body in zip(parts[::2], map(str.splitlines, parts[1::2]), strict=True)
        ]
        return before + "\n".join(written)

    return TABS.sub(tabs, text)
