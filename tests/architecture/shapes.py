"""Finds the sentences whose shape has to be read twice (STYLE.md, Plain English)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import comments, name, nodes

# A sentence that begins with one of these words is a question, or hides its subject.
OPENING = re.compile(r"(?:What|Who|Whom|Of|One that|Those (?:that|who))\b")
INSIDE = re.compile(
    r"\bthat is none\b"
    r"|\bof those of (?:them|it)\b"
    r"|\b(?:it is said|is told of|was told of|is said to be)\b"
    r"|\bof one(?=[,.;:)]|\s+(?:as|that|who)\b)",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=[.!?:;])[”\"')]*\s+(?=[“\"'(`]?[A-Z])|\n\s*\n")
# Text on both sides of these tags is one sentence; other tags end it.
INLINE = re.compile(r"</?(?:a|b|bdi|i|em|strong|code|span|kbd|mark|q|small)\b[^>]*>", re.IGNORECASE)
CODE_BLOCK = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
JS_TEXT = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`")


def shapes_in(text: str) -> list[str]:
    """Returns the sentences of the text that have such a shape. A label of one word has no such
    shape."""
    return [
        sentence
        for sentence in (" ".join(part.split()) for part in SENTENCE_END.split(text))
        if " " in sentence and _has_a_shape(sentence)
    ]


def in_templates(paths: list[Path]) -> list[str]:
    """Looks at the text of pages and mails, and at the attributes that a person reads or hears."""
    return [found for path in paths for found in _named(path, _texts_of_template(path.read_text()))]


def in_strings(paths: list[Path]) -> list[str]:
    """Looks at the strings of Python modules, but not at docstrings."""
    return [found for path in paths for found in _named(path, _strings(path))]


def in_scripts(paths: list[Path]) -> list[str]:
    return [
        found
        for path in paths
        for found in _named(path, (one or two for one, two in JS_TEXT.findall(path.read_text())))
    ]


def in_comments_and_docstrings(paths: list[Path]) -> list[str]:
    return [found for path in paths for found in _named(path, _comments(path))]


def in_documents(paths: list[Path]) -> list[str]:
    return [found for path in paths for found in _named(path, _paragraphs(path.read_text()))]


def _named(path: Path, texts: Iterator[str]) -> list[str]:
    return [f"{name(path)}: {found}" for text in texts for found in shapes_in(text)]


def _has_a_shape(sentence: str) -> bool:
    is_question = sentence.rstrip("”\"')").endswith("?")
    opens = OPENING.match(sentence.lstrip("“\"'(`*-#| "))
    return bool(opens and not is_question) or bool(INSIDE.search(sentence))


def _texts_of_template(source: str) -> Iterator[str]:
    source = re.sub(r"\{#.*?#\}", "", source, flags=re.DOTALL)
    yield from re.findall(r"\b(?:text|title|state|action|label|none|all_well)=\"([^\"]*)\"", source)
    source = re.sub(r"\{%.*?%\}", " ", source, flags=re.DOTALL)
    source = re.sub(r"\{\{.*?\}\}", "X", source, flags=re.DOTALL)
    yield from re.findall(r"(?:aria-label|placeholder|title|alt)=\"([^\"]*)\"", source)
    yield from re.split(r"<[^>]*>", INLINE.sub("", source))


def _strings(path: Path) -> Iterator[str]:
    docstrings = {id(node) for node in _docstring_nodes(path)}
    for node in nodes(path):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
                else "X"
                for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.value


def _docstring_nodes(path: Path) -> Iterator[ast.Constant]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in nodes(path):
        if isinstance(node, documented) and node.body:
            match node.body[0]:
                case ast.Expr(value=ast.Constant(value=str()) as docstring):
                    yield docstring


def _comments(path: Path) -> Iterator[str]:
    for docstring in _docstring_nodes(path):
        yield str(docstring.value)
    block: list[str] = []
    last = -2
    for line, comment in comments(path):
        if line != last + 1:
            yield " ".join(block)
            block = []
        block.append(comment.lstrip("# "))
        last = line
    yield " ".join(block)


def _paragraphs(source: str) -> Iterator[str]:
    source = re.sub(r"`[^`\n]*`", "X", CODE_BLOCK.sub("", source))
    yield from re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|\|) ?)|(?<=\S)\s*\|\s*(?=\S)", source)
