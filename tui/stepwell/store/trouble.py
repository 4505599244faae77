"""What a database has against a reader, in plain words: one line each, and what can be done about it."""

import re

import psycopg

_LOST = {
    "57P01": "an administrator or a restart ended the session",
    "57P02": "the server crashed or was stopped at once",
    "57P04": "the database was dropped",
    "57P05": "idle for longer than idle_session_timeout",
    "25P03": "stood still: idle_in_transaction_session_timeout",
    "25P04": "a move may not last longer than transaction_timeout",
    "40001": "the standby had to apply changes first",
}
"""Why a connection is gone, by SQLSTATE."""

_AGAIN = {"40001": "serialization failure", "40P01": "deadlock"}
"""Why a move was made again, by SQLSTATE."""

_REMEDIES = (
    (
        "query_wait_timeout",
        "the pooler has no connection to the server free; try again, or have its pool enlarged",
    ),
    (
        "statement pooling",
        "the pooler ends every statement's transaction; connect to a pool in transaction mode",
    ),
)
"""What poolers say in words only."""

_READING_ONLY = "only reading statements run here: the replay is read-only"
_PLAINLY = (
    ("42601", "multiple commands", "one statement at a time"),
    ("0A000", "data-modifying statements in WITH", _READING_ONLY),
    ("08P01", "bind message supplies 0 parameters", "a statement has no parameters here: write the value"),
    ("42P02", "there is no parameter", "a statement has no parameters here: write the value"),
)
"""By SQLSTATE and some of its words, what Postgres says of how a statement was sent, which is not the user's doing."""
_LOCKING = re.compile(r"cannot execute SELECT ?(FOR [A-Z ]+)? in a read-only transaction")


def lost(problem: psycopg.Error) -> str:
    """Why the connection is gone: `idle for longer than idle_session_timeout`."""
    return (
        _LOST.get(problem.sqlstate or "", "")
        or _remedy(problem)
        or "the server or the network broke the connection"
    )


def again(problem: psycopg.Error, *, standby: bool) -> str:
    """Why what failed is worth another attempt: `deadlock`."""
    if standby:
        return _LOST["40001"]
    return _AGAIN.get(problem.sqlstate or "", said(problem))


def told(problem: psycopg.Error) -> str:
    """One line for the user."""
    words = said(problem)
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return f"{words}; the debugger needs SELECT on agent_steps and agent_runs (see sql/roles.sql)"
    if isinstance(problem, psycopg.errors.QueryCanceled):
        if not overran(problem):
            return "an administrator cancelled the statement; nothing was changed"
        return f"{words}: reading took too long"
    if problem.sqlstate in _LOST and problem.sqlstate != "40001":
        return f"connection lost: {_LOST[problem.sqlstate]}"
    if problem.sqlstate in _AGAIN:
        return f"gave up after several attempts: {_AGAIN[problem.sqlstate]}: {words}"
    return _remedy(problem) or words


def overran(problem: psycopg.Error) -> bool:
    """Whether a statement was cancelled by a limit, and by nobody."""
    return isinstance(problem, psycopg.errors.QueryCanceled) and "user request" not in said(problem)


def timed_out(problem: psycopg.Error, *, late: bool) -> bool:
    """Whether what was cancelled was so by its time limit, and not by somebody.

    Where a server says it in another language than English, `late` decides: whether the limit has passed by our clock.
    Its own may be put forward meanwhile.
    """
    return "statement timeout" in said(problem) or (late and overran(problem))


def said(problem: psycopg.Error) -> str:
    """The first line of what Postgres said."""
    return (problem.diag.message_primary or str(problem).strip().partition("\n")[0]) or type(problem).__name__


def refused(problem: psycopg.Error) -> str:
    """Why a statement of the user's own was refused: in plain words, or in those of Postgres with what helps."""
    words = said(problem)
    plain = (text for state, part, text in _PLAINLY if state == problem.sqlstate and part in words)
    lock = (
        None if problem.diag.context else _LOCKING.fullmatch(words)
    )  # in a function's body it can only stay
    if lock is not None:
        # What locks the past of a table is called SELECT alone.
        words += f"; leave out {lock[1] or 'FOR UPDATE'}: the replay is read-only"
    return next(plain, words)


def _remedy(problem: psycopg.Error) -> str:
    return next((remedy for word, remedy in _REMEDIES if word in str(problem)), "")
