"""Every error that Stepwell raises on purpose.

StepwellError             its text is one line that names the cause and the remedy
├── NotFoundError         no such run, step or path (exit status 1)
├── UsageError            the words of a command or an argument are off
├── DatabaseError         no connection, no schema, too few rights
│   └── StatementError    a statement of the user's that is not sent, or that the database refuses
├── InvalidFileError      a file that no importer can take
└── RecordingError        a step could not be recorded, so its call was not made
    └── EncodingError     a value that cannot be stored exactly
"""


class StepwellError(Exception):
    """Base of all. `exit_status` is what the command line exits with when it gets this far."""

    exit_status = 2


class NotFoundError(StepwellError):
    """No such run, step or path."""

    exit_status = 1


class UsageError(StepwellError):
    """A command, a flag, an address or an argument that makes no sense."""


class DatabaseError(StepwellError):
    """The database cannot be reached, lacks the schema, is too old or forbids what is needed."""


class StatementError(DatabaseError):
    """A statement of the user's own: refused before it was sent, or by the database, whose words the text has.

    `position` is the place in the statement that it is about, a character counted from 1, where there is one.
    """

    def __init__(
        self,
        text: str,
        *,
        position: int | None = None,
        severity: str = "ERROR",
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(text)
        self.position = position
        self.severity = severity
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint

    def going_on(self, more: str) -> "StatementError":
        """The same, with more to say of it."""
        return StatementError(
            f"{self}; {more}",
            position=self.position,
            severity=self.severity,
            sqlstate=self.sqlstate,
            detail=self.detail,
            hint=self.hint,
        )


class InvalidFileError(StepwellError):
    """A file that no importer takes; the text names its line or path."""


class RecordingError(StepwellError):
    """A step could not be recorded. Raised before the call is made, or instead of handing out its result."""


class EncodingError(RecordingError):
    """A value that cannot be stored so that it comes back equal."""
