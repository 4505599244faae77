"""What is to be known of a connection once it is open: what its role may do, which limits it was given."""

from dataclasses import dataclass

import psycopg
from psycopg.rows import dict_row

from stepwell.store.queries import query


@dataclass(frozen=True, slots=True)
class Session:
    """Limits are in milliseconds, 0 for none."""

    role: str = ""
    superuser: bool = False
    owned: bool = False
    """Whether one of Stepwell's tables here, or of those that are watched, is the role's own."""
    written: bool = False
    """Whether the role may write to one of them."""
    powers: tuple[str, ...] = ()
    """What else it may do beyond reading: `CREATEROLE`, `pg_write_all_data`."""
    statement_ms: int = 0
    lock_ms: int = 0
    idle_ms: int = 0
    watches: bool = False
    """Whether the server can look after its client while it works for it."""

    @property
    def caution(self) -> str:
        """A line about a role that may do more than look; empty for one that may not.

        What keeps it from writing is then the READ ONLY of each transaction, and that of the user's own statements
        only those run that read.
        """
        what = ""
        if self.superuser:
            what = "superuser role"
        elif self.owned:
            what = "owner of the tables"
        elif self.written:
            what = "role may write"
        elif self.powers:
            what = f"role has {self.powers[0]}"
        return what and f"{what}; Stepwell only reads; safer: sql/roles.sql"


UNKNOWN = Session()
"""Before anybody has asked."""


def read_session(connection: psycopg.Connection) -> Session:
    """Ask the server, in one query."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("read_rights"), prepare=False).fetchone()
    assert row is not None
    row["powers"] = tuple(row["powers"])
    return Session(role=row.pop("rolname"), **row)
