"""What the database of a replay refuses, and what becomes of the replay and of the agent then."""

from __future__ import annotations

import re

import psycopg

from stepwell.rerun.admitting import UnfitError, Way, draws, locks_rows, upserts, way_of, written_by
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.stops import BeginAgain, Refused
from stepwell.store.bounded import STATEMENT_TIMEOUT_MS
from stepwell.store.held import Held, is_known
from stepwell.store.trouble import lost, overran, said

READ_ONLY = "25006"
TAKES_NO_WRITES = frozenset({"55000", "42809"})
"""What Postgres says of a write to a view that takes none."""
NOT_INTO_A_VIEW = TAKES_NO_WRITES | {"0A000", "42P10"}
"""What it says of ways of writing that no view takes."""
BY_OTHERS = frozenset({"55P03", "40001", "40P01"})
"""What it says where others were in the way: a lock, or on a standby what it had to apply."""
TAKEN = "23505"
OF_A_TYPE = frozenset({"42883", "42804", "42846"})
"""What it says of values of types that do not go together."""
_TEXT = re.compile(r"\btext\b")
TEXTS = "in a replay a watched table's column of an enum, a composite or an extension's type is a text"
OURS = "\nCONTEXT:  PL/pgSQL function pg_temp"
"""Where an error of an overlay's tells of that."""
A_VIEW = (
    "in a replay a watched table is a view: it takes INSERT, UPDATE, DELETE, no ON CONFLICT,"
    " and MERGE from Postgres 17 on"
)


class Refusals:
    """Of one replay. `writing` is whether it has been prepared for writes to watched tables."""

    def __init__(self, dialogue: Dialogue, *, writing: bool) -> None:
        self._dialogue, self._writing = dialogue, writing
        self._text = ""
        """What is sent, of the agent's."""

    def way_of(self, text: str) -> Way:
        """What becomes of a text of the agent's. Raises psycopg's error where the replay does not send it."""
        self._text = text
        try:
            return way_of(text)
        except UnfitError as unfit:
            self._note(str(unfit))
            raise psycopg.errors.ReadOnlySqlTransaction(str(unfit)) from unfit

    def met(self, problem: psycopg.Error, held: Held) -> None:
        """The database has refused something. Raises Stop where the agent cannot go on as it did.

        That is BeginAgain where overlays are what it takes.
        """
        if held.raw.closed:
            why = f"the connection to the agent's database was lost: {lost(problem)}"
            raise self._dialogue.end(Refused(why)) from problem
        if problem.sqlstate in BY_OTHERS:
            why = f"somebody else was in the way in the agent's database: {said(problem)}"
            raise self._dialogue.end(Refused(why)) from problem
        if overran(problem):
            most = f"a statement of a replay has {STATEMENT_TIMEOUT_MS // 1000} seconds at most"
            self._note(said(problem), most)
        if OURS in str(problem):  # which no table of the agent's would have said
            problem.args = (str(problem).partition(OURS)[0], *problem.args[1:])
        table = written_by(self._text)
        is_new = not self._writing and any(map(is_known, held.found.tables))
        is_for_overlays = problem.sqlstate == READ_ONLY and (locks_rows(self._text) or draws(self._text))
        if is_new and (is_for_overlays or problem.sqlstate in TAKES_NO_WRITES):
            raise self._dialogue.end(BeginAgain("the agent writes to a watched table"))
        if problem.sqlstate == READ_ONLY:
            self._note(said(problem), _remedy(held, table))
        elif problem.sqlstate in OF_A_TYPE and _TEXT.search(said(problem)):
            self._note(said(problem), TEXTS)
        elif table in {each.name for each in held.found.tables} and (
            problem.sqlstate in NOT_INTO_A_VIEW or (problem.sqlstate == TAKEN and upserts(self._text))
        ):
            self._note(said(problem), A_VIEW)

    def _note(self, why: str, remedy: str = "") -> None:
        place = Places(libraries()).of_caller()
        where = "" if place is None else f"{place.file}:{place.line}: "
        self._dialogue.note(f"{where}{why}{remedy and f' ({remedy})'}")


def _remedy(held: Held, table: str | None) -> str:
    if table is None:
        return ""
    _, dot, name = table.rpartition(".")
    if any(each.name == name for each in held.found.tables):
        return f"{name} is watched: name it without its schema" if dot else A_VIEW
    return f"{table} is not watched: stepwell watch {table}"
