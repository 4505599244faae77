"""Recordings of other tools as runs. A new format is one new module and one line here."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from stepwell.core.recorded import RecordedRun
from stepwell.core.recording import ImportedRun
from stepwell.core.spooling import Spooled
from stepwell.errors import InvalidFileError
from stepwell.importers import cassette, chat_completions, spool, swe_agent
from stepwell.importers.document import Document, kind, printable

__all__ = ["FORMATS", "Format", "Reading", "read", "recognise"]


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is told from others and read.

    `read` raises InvalidFileError, with the line or the path, for a file that is broken inside.
    """

    name: str
    title: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document], tuple[ImportedRun, ...] | RecordedRun | Spooled]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: whole runs, one run as it was recorded, or what a recorder put there of one run."""

    format: str
    runs: tuple[ImportedRun, ...] = ()
    recorded: RecordedRun | None = None
    spooled: Spooled | None = None


# A mini-swe-agent file is a list of chat messages too: the narrower format is asked first.
FORMATS = tuple(
    Format(module.NAME, module.TITLE, module.recognises, module.read)
    for module in (cassette, spool, swe_agent, chat_completions)
)


def recognise(data: bytes, file_name: str) -> Format:
    """The format that the content is in; the name is for messages only. Raises InvalidFileError for none."""
    return _recognise(Document(data, file_name))


def read(data: bytes, file_name: str) -> Reading:
    """The runs of a file, each with a name. Raises InvalidFileError."""
    document = Document(data, file_name)
    format_ = _recognise(document)
    runs = format_.read(document)
    if isinstance(runs, Spooled):
        return Reading(format_.name, spooled=runs)
    if isinstance(runs, RecordedRun):
        return Reading(format_.name, recorded=runs)
    stem = file_name.rsplit("/", 1)[-1].removesuffix(".gz")
    for ending in (".json", ".jsonl", ".traj"):
        stem = stem.removesuffix(ending)
    names = [stem] if len(runs) == 1 else [f"{stem}#{number}" for number in range(1, len(runs) + 1)]
    named = (replace(run, name=run.name or name) for run, name in zip(runs, names, strict=True))
    return Reading(format_.name, tuple(named))


def _recognise(document: Document) -> Format:
    for format_ in FORMATS:
        if format_.recognises(document):
            return format_
    known = ", ".join(format_.title for format_ in FORMATS)
    raise InvalidFileError(
        printable(
            f"{document.file_name}: not a recording that Stepwell knows ({known}): it holds {_gist(document)}"
        )
    )


def _gist(document: Document) -> str:
    value = document.items[0].value
    inner = value[0] if isinstance(value, list) and value else value
    if isinstance(inner, dict):
        keys = ", ".join(list(inner)[:5]) + (", …" if len(inner) > 5 else "")
        what = f"with the keys {keys}" if inner else "without keys"
        return f"objects {what}" if isinstance(value, list) or document.is_lines else f"an object {what}"
    return kind(value)
