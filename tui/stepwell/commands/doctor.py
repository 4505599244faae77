"""`stepwell doctor`: what this role can and cannot do in this database, and what is not well there."""

import argparse
import textwrap
from contextlib import closing

from stepwell.commands.output import emit, line, terminal_width
from stepwell.commands.session import target_of
from stepwell.core.doctor import Finding, Level
from stepwell.store.connect import connect
from stepwell.store.doctor import examine
from stepwell.store.doctor.patient import Patient

INDENT = 16
JSON_HELP = """\
Looks, and changes nothing. A line begins with ok, note or WARN; what can be
done about it comes after the text. Give it the --dsn of the role that is to be
looked at: what another may do is not told.

exit status: 0 no WARN; 1 there is one, or several; 2 no connection

with --json, one object a line: {"level", "topic", "text", "remedy"}; remedy is
null where there is nothing to do
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Tell each finding as it is made; 1 where one of them is a warning. Raises DatabaseError."""
    target = target_of(args)
    status = 0
    with closing(connect(target)) as connection:
        if not args.json:
            line(target.describe())
        for finding in examine(Patient(target, connection)):
            status = max(status, finding.level is Level.WARN)
            if args.json:
                emit(as_json(finding))
            else:
                for text in lines(finding, terminal_width()):
                    line(text)
    return int(status)


def lines(finding: Finding, width: int | None) -> list[str]:
    """At most `width` cells across where there is a terminal; else one line, so that it can be searched."""
    begin = f"{finding.level:<4}  {finding.topic:<{INDENT - 7}} "
    text = finding.text + (f"; {finding.remedy}" if finding.remedy else "")
    if width is None:
        return [begin + text]
    room = max(width - INDENT, 20)
    return [
        (begin if not number else " " * INDENT) + part
        for number, part in enumerate(textwrap.wrap(text, room, break_on_hyphens=False) or [""])
    ]


def as_json(finding: Finding) -> dict[str, object]:
    """The documented shape of a finding."""
    return {
        "level": finding.level.value,
        "topic": finding.topic,
        "text": finding.text,
        "remedy": finding.remedy or None,
    }
