"""What a recorder of our own put into a file while its database took nothing (`core/spooling.py`)."""

from stepwell.core.spooling import BEGINNING, Spooled
from stepwell.core.spooling import read as read_spool
from stepwell.importers.document import Document

NAME = "spool"
TITLE = "spooled run"


def recognises(document: Document) -> bool:
    return document.data.startswith(BEGINNING)


def read(document: Document) -> Spooled:
    """Raises InvalidFileError."""
    return read_spool(document.data, document.file_name)
