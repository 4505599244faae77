"""What must not be recorded: found by the names that values stand under, or by functions of the user's own."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping

from stepwell.core.codec.values import Redacted
from stepwell.core.redacting import Walk
from stepwell.errors import EncodingError

Rewrite = Callable[[str, str], str | None]
"""Gets the name that a text stands under and the text; returns what to record: it, another text, or None for none."""

_SEPARATORS = re.compile(r"(\[[^\]]*\])|[-_]")
_MOST_KNOWN = 10_000


class Redactor:
    """Called with a value, gives the one to record: a `Redacted` stands for what is to be left out.

    Nothing is changed in place, and what needs no redaction comes back as the same object. `patterns` are shell
    patterns of names, in any case, with `-` and `_` or without. Usable from any thread.
    """

    def __init__(self, patterns: Iterable[str], rewrites: Iterable[Rewrite] = ()) -> None:
        self._rewrites = tuple(rewrites)
        self.reads = bool(self._rewrites)
        """Whether texts are looked at, and not only names."""
        texts = [fnmatch.translate(_bare(pattern)) for pattern in patterns]
        self._pattern = re.compile("|".join(texts)) if texts else None
        self.known: dict[str, bool] = {}
        """What `hides` has said of some names."""

    def __call__(self, value: object, name: str = "") -> object:
        """The value to record. Raises EncodingError where a rewrite raises, or the value cannot be kept anyway."""
        try:
            return Walk(self).value(value, name)
        except RecursionError:
            raise EncodingError(
                "a value that is nested too deeply, or in itself, cannot be recorded"
            ) from None
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            why = type(error).__name__  # its words may hold what is to be left out
            raise EncodingError(
                f"the value changed while it was being recorded ({why}); record a copy"
            ) from error

    def hides(self, name: str) -> bool:
        """Whether what stands under this name is left out, whatever it is."""
        found = self.known.get(name)
        if found is None:
            found = self._pattern is not None and self._pattern.match(_bare(name)) is not None
            if len(self.known) < _MOST_KNOWN:
                self.known[name] = found
        return found

    def rewrite(self, name: str, text: str) -> Redacted | None:
        """What stands for a text; None for the text itself. Raises EncodingError."""
        new: object = text
        for rewrite in self._rewrites:
            try:
                new = rewrite(name, str(new))
            except (
                Exception
            ) as error:  # the user's own code may raise anything, in words that are not to be told
                why = f"redact raised {type(error).__name__}, so nothing may be recorded"
                raise EncodingError(why) from error
            if new is None:
                return Redacted()
            if not isinstance(new, str):
                raise EncodingError(f"redact has to return a text or None, not {type(new).__name__}")
        return None if new == text else Redacted(str(new))

    def label(self, name: str, text: str | None) -> str | None:
        """A text of a column of its own, such as the name of a run. Raises EncodingError."""
        found = None if text is None else self.rewrite(name, text)
        return text if found is None else found.text

    def call(
        self, name: str | None, agent: str | None, value: object, seed: object
    ) -> tuple[str | None, str | None, object, object]:
        """What identifies a step and what it is given; a name or seed taken from an argument is hidden with it."""
        redacted = self(value)
        if isinstance(value, Mapping) and isinstance(redacted, Mapping):
            if name is not None and value.get("model") == name and self.hides("model"):
                name = Redacted().text
            if seed is not None and value.get("seed") is seed:
                seed = redacted.get("seed")
        return self.label("name", name), self.label("agent", agent), redacted, seed


def _bare(name: str) -> str:
    """A name or pattern without what it may be spelled with or without."""
    return _SEPARATORS.sub(lambda found: found[1] or "", name.casefold())
