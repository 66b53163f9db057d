"""Turns a call into a question for people: a headline, a summary, and all arguments as blocks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from wake_client.hook.calls import ASK_USER, EXIT_PLAN, NAMES, Call, Unexpected
from wake_client.visible_text import shortened, visible

# A person decides about what they can read. Longer arguments are denied without asking.
MAX_CHARACTERS = 20_000
LONGEST_HEADLINE, LONGEST_SUMMARY = 120, 280
LONGEST_LABEL, MAX_OPTIONS = 200, 12
PLAN, GO, REVISE = "plan", "go", "revise"
FILE_TOOLS = {
    "Edit": "Edit",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "Write": "Write",
    "Read": "Read",
}
Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    headline: str
    summary: str
    details: dict[str, Any]


def is_too_long(call: Call) -> bool:
    return len(json.dumps(call.arguments, ensure_ascii=False)) > MAX_CHARACTERS


def question(call: Call) -> Question:
    """Returns the question about a call. Raises Unexpected if the arguments cannot be shown."""
    if call.tool == ASK_USER:
        return _choices(call)
    if call.tool == EXIT_PLAN:
        return _plan(call)
    described = call.arguments.get("description")
    asks = f"{NAMES[call.agent]} asks for permission to use {call.tool}."
    summary = described if isinstance(described, str) and described.strip() else asks
    return Question(
        _line(_action(call), LONGEST_HEADLINE),
        _line(summary, LONGEST_SUMMARY),
        {
            "wake_blocks": 1,
            "blocks": _blocks(call),
            "proposal": call.arguments,  # the part that a person edits
        },
    )


def questions_of(call: Call) -> list[dict[str, Any]]:
    """Returns the questions of AskUserQuestion. Raises Unexpected if the questions have another
    form."""
    questions = call.arguments.get("questions")
    if not isinstance(questions, list) or not questions:
        raise Unexpected("There are no questions.")
    for each in questions:
        options = each.get("options") if isinstance(each, dict) else None
        if not isinstance(options, list) or not 1 <= len(options) <= MAX_OPTIONS:
            raise Unexpected("A question has no options, or too many.")
        labels: list[Any] = [
            option.get("label") if isinstance(option, dict) else None for option in options
        ]
        texts = [each.get("question"), *labels]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise Unexpected("A question or an option has no text.")
        if any(len(label) > LONGEST_LABEL for label in labels):
            raise Unexpected("An option is longer than its button could show.")
    texts = [each["question"] for each in questions]
    if len(set(texts)) < len(texts):
        raise Unexpected("Two questions are the same, so their answers could not be told apart.")
    return questions


def _action(call: Call) -> str:
    command = call.arguments.get("command")
    if isinstance(command, str) and command.strip():
        return _quoted("Run", command, call)
    if path := _path(call):
        where = "in" if _file(call).is_relative_to(call.real_folder) else "outside"
        return _quoted(FILE_TOOLS[call.tool], PurePath(path).name, call, where)
    return f"Allow {call.tool} in {call.project}?"


def _quoted(verb: str, words: str, call: Call, where: str = "in") -> str:
    """Returns a headline with the words. Words that are too long are cut. The details have all of
    the words."""
    end = f"` {where} {_line(call.project, 40)}?"
    return f"{verb} `{_line(words, LONGEST_HEADLINE - len(verb) - 2 - len(end))}{end}"


def _path(call: Call) -> str:
    """Returns the path that a file tool names, or an empty text if there is none."""
    path = call.arguments.get("file_path", call.arguments.get("notebook_path"))
    return path if call.tool in FILE_TOOLS and isinstance(path, str) and path.strip() else ""


def _file(call: Call) -> Path:
    """Returns the file that the path leads to, with all links and `..` resolved."""
    name = "file_path" if "file_path" in call.arguments else "notebook_path"
    return Path(call.real_paths[name])


def _blocks(call: Call) -> list[Block]:
    """Returns blocks that together show every argument whole."""
    rest = dict(call.arguments)
    blocks: list[Block] = []
    if isinstance(rest.get("command"), str):
        blocks.append({"type": "code", "language": "sh", "text": rest.pop("command")})
    if isinstance(rest.get("old_string"), str) and isinstance(rest.get("new_string"), str):
        before, after = rest.pop("old_string"), rest.pop("new_string")
        blocks.append({"type": "diff", "before": before, "after": after})
    if isinstance(rest.get("content"), str):
        blocks.append({"type": "code", "text": rest.pop("content")})
    given = [{"type": "kv", "title": "Arguments", "items": rest}] if rest else []
    main_first = [*blocks, *given] if "command" in call.arguments else [*given, *blocks]
    return [*main_first, _where(call)]


def _where(call: Call) -> Block:
    items = {"agent": NAMES[call.agent], "tool": call.tool}
    items |= {"MCP server": call.server} if call.server else {}
    if (path := _path(call)) and str(_file(call)) != str(Path(call.folder, path)):
        items["file"] = str(_file(call))
    return {"type": "kv", "title": "Where", "items": {**items, "folder": call.folder}}


def _others(arguments: dict[str, Any], *shown: str) -> list[Block]:
    """Returns a block with the arguments that no other block shows. People must see these
    arguments, because an approval covers them, too."""
    others = {name: value for name, value in arguments.items() if name not in shown}
    return [{"type": "kv", "title": "Also in the call", "items": others}] if others else []


def _choices(call: Call) -> Question:
    questions = questions_of(call)
    blocks = [
        {
            "type": "choice",
            "name": f"question-{place}",
            "label": shortened(each["question"], LONGEST_LABEL),
            "multiple": each.get("multiSelect") is True,
            "options": [
                {
                    "id": str(number),
                    "label": option["label"],
                    "text": str(option.get("description") or ""),
                }
                for number, option in enumerate(each["options"])
            ],
        }
        for place, each in enumerate(questions)
    ]
    long = [{"type": "text", "text": each["question"]} for each in questions if _is_long(each)]
    others = _others({**call.arguments, **_others_of(questions)}, "questions")
    asks = f"{NAMES[call.agent]} asks in {call.project}."
    return Question(
        _line(questions[0]["question"], LONGEST_HEADLINE),
        _line(
            asks if len(questions) == 1 else f"{asks} {len(questions)} questions.", LONGEST_SUMMARY
        ),
        {"wake_blocks": 1, "blocks": [*long, *blocks, *others, _where(call)]},
    )


def _others_of(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the members of questions and options that no choice block shows. The name of each
    returned member says which question or option the member belongs to."""
    others: dict[str, Any] = {}
    for place, each in enumerate(questions, 1):
        rest = each.keys() - {"question", "options", "multiSelect"}
        others |= {f"{name} of question {place}": each[name] for name in sorted(rest)}
        for number, option in enumerate(each["options"], 1):
            rest = option.keys() - {"label", "description"}
            where = f"option {number} of question {place}"
            others |= {f"{name} of {where}": option[name] for name in sorted(rest)}
    return others


def _plan(call: Call) -> Question:
    plan = call.arguments.get("plan")
    if not isinstance(plan, str) or not plan.strip():
        raise Unexpected("There is no plan.")
    options = [
        {"id": GO, "label": "Approve the plan", "recommended": True},
        {"id": REVISE, "label": "Keep planning"},
    ]
    blocks = [
        {"type": "markdown", "text": plan},
        {"type": "choice", "name": PLAN, "label": "Shall the agent begin?", "options": options},
        *_others(call.arguments, "plan"),
        _where(call),
    ]
    return Question(
        _line(f"Approve the plan for {call.project}?", LONGEST_HEADLINE),
        _line(f"{NAMES[call.agent]} has a plan and asks to begin.", LONGEST_SUMMARY),
        {"wake_blocks": 1, "blocks": blocks},
    )


def _is_long(question: dict[str, Any]) -> bool:
    return len(question["question"]) > LONGEST_LABEL


def _line(text: str, longest: int) -> str:
    """Returns the text on one line, with the names of invisible characters. A cut text ends in an
    ellipsis."""
    line = visible(" ".join(text.split())) or "…"
    return shortened(line, longest)
