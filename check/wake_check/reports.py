"""Writes the verdicts as text, JSON, JUnit XML and a Markdown page."""

from __future__ import annotations

import json
import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wake_check import __version__
from wake_check.exchanges import masked
from wake_check.requirements import LEVELS
from wake_check.verdicts import Result, Verdict

BINDING = {"must", "extension"}
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The answers come from a foreign server, and must not control the terminal.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Report:
    server: str
    revision: str
    verdicts: Sequence[Verdict]
    extensions: Sequence[str]

    def is_broken(self, *, strict: bool = False) -> bool:
        """Returns whether a binding requirement is broken. A disputed requirement does not count;
        the report shows it."""
        return any(
            verdict.result is Result.FAIL
            and (strict or verdict.requirement.level in BINDING)
            and not verdict.requirement.disputed
            for verdict in self.verdicts
        )

    def counts(self) -> dict[str, dict[Result, int]]:
        """Returns how often each level has each result. Sentences for agents do not count."""
        judged = [verdict for verdict in self.verdicts if verdict.requirement.party == "server"]
        return {
            level: {
                result: sum(
                    verdict.requirement.level == level and verdict.result is result
                    for verdict in judged
                )
                for result in Result
            }
            for level in LEVELS
        }

    def unknown_extensions(self) -> list[str]:
        """Returns the declared extensions for which the set has no requirement."""
        known = {verdict.requirement.extension for verdict in self.verdicts}
        return sorted(set(self.extensions) - known)


def text(report: Report, *, is_whole: bool = False) -> str:
    """Returns the report for a terminal. Each FAIL shows how to repeat it."""
    parts = [
        _paragraph(verdict)
        for verdict in report.verdicts
        if is_whole or verdict.result is Result.FAIL or _is_open(verdict)
    ]
    parts += [
        f"NOT JUDGED  extension {name}\n    This version of the kit has no check for it."
        for name in report.unknown_extensions()
    ]
    whole = masked("\n\n".join([*parts, _summary(report)]) + "\n")
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", whole)


def _is_open(verdict: Verdict) -> bool:
    return verdict.result is Result.NOT_JUDGED and verdict.requirement.party == "server"


def _paragraph(verdict: Verdict) -> str:
    requirement = verdict.requirement
    lines = [f"{verdict.result:<10}  {requirement.level:<9}  {requirement.id}"]
    lines.append(f"    “{requirement.sentence}” ({requirement.source}, {requirement.section})")
    if verdict.reason:
        lines.append(f"    {verdict.reason}")
    if requirement.disputed:
        lines.append(f"    Disputed: {requirement.disputed}")
    if verdict.exchange:
        for title, shown in (
            ("request", verdict.exchange.request_text),
            ("answer", verdict.exchange.answer_text),
            ("try it", verdict.exchange.curl),
        ):
            lines += [f"    {title}:", textwrap.indent(shown, "      ")]
    return "\n".join(lines)


def _summary(report: Report) -> str:
    lines = [f"WAKE 1.0, requirements of {report.revision}: {report.server}"]
    for level, counts in report.counts().items():
        numbers = ", ".join(f"{number} {result}" for result, number in counts.items() if number)
        lines.append(f"  {level:<9}  {numbers or 'none'}")
    return "\n".join(lines)


def as_json(report: Report) -> str:
    value = {
        "kit": __version__,
        "protocol": "1.0",
        "revision": report.revision,
        "server": report.server,
        "broken": report.is_broken(),
        "counts": report.counts(),
        "extensions_without_check": report.unknown_extensions(),
        "verdicts": [_members(verdict) for verdict in report.verdicts],
    }
    return masked(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _members(verdict: Verdict) -> dict[str, Any]:
    exchange = verdict.exchange
    shown = (
        {
            "request": exchange.request_text,
            "answer": exchange.answer_text,
            "curl": exchange.curl,
        }
        if exchange
        else None
    )
    return {
        **asdict(verdict.requirement),
        "result": verdict.result.value,
        "reason": verdict.reason,
        "exchange": shown,
    }


def junit(report: Report) -> str:
    """Returns JUnit XML: a FAIL is a failure, and NOT JUDGED is skipped with its reason."""
    suite = ET.Element("testsuite", name=f"WAKE 1.0, {report.revision}")
    for verdict in report.verdicts:
        requirement = verdict.requirement
        case = ET.SubElement(suite, "testcase", classname=requirement.level, name=requirement.id)
        if verdict.result is Result.FAIL:
            failure = ET.SubElement(case, "failure", message=_xml(verdict.reason))
            failure.text = _xml(_paragraph(verdict))
        elif verdict.result is Result.NOT_JUDGED:
            ET.SubElement(case, "skipped", message=_xml(verdict.reason))
    for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f".//{tag}"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(value: str) -> str:
    return NOT_IN_XML.sub("�", masked(value))


def markdown(report: Report) -> str:
    """Returns every requirement with its verdict, as tables of a Markdown page. The page has no
    times and no addresses, so that two equal results are equal pages."""
    lines = ["| level | PASS | FAIL | NOT JUDGED |", "|---|--:|--:|--:|"]
    for level, counts in report.counts().items():
        lines.append(f"| {level} | " + " | ".join(str(counts[result]) for result in Result) + " |")
    for level in LEVELS:
        lines += [
            "",
            f"## {level.capitalize()}",
            "",
            "| requirement | sentence | result |",
            "|---|---|---|",
        ]
        lines += [
            _row(verdict)
            for verdict in report.verdicts
            if verdict.requirement.level == level and verdict.requirement.party == "server"
        ]
    lines += ["", "## Sentences that bind agents", ""]
    lines += [
        f"- {verdict.requirement.level}: {verdict.requirement.sentence}"
        for verdict in report.verdicts
        if verdict.requirement.party == "agent"
    ]
    return "\n".join(lines) + "\n"


def _row(verdict: Verdict) -> str:
    requirement = verdict.requirement
    source = f"{requirement.source}, {requirement.section}"
    result = (
        verdict.result if verdict.result is Result.PASS else f"{verdict.result}: {verdict.reason}"
    )
    if requirement.disputed:
        result += f" (disputed: {requirement.disputed})"
    cells = (
        f"`{requirement.id}`",
        f"{_cell(requirement.sentence)} ({_cell(source)})",
        _cell(result),
    )
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Escapes what Markdown would read as a table or as markup."""
    return re.sub(r"([|*_<>\[\]])", r"\\\1", masked(text).replace("\n", " ").replace("`", ""))
