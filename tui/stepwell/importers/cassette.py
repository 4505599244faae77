"""What `stepwell export` wrote of a run (`core/cassette.py`)."""

from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.importers.document import Document

NAME = "recording"
TITLE = "exported recording"


def recognises(document: Document) -> bool:
    return cassette.recognises(document.data)


def read(document: Document) -> RecordedRun:
    """Raises InvalidFileError."""
    return cassette.unpack(document.data, document.file_name)
