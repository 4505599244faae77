"""What the codec hands out: encoded texts, and stand-ins for what cannot be rebuilt."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value as two texts of JSON, each of which a cast to jsonb accepts.

    `plain` is for a queryable column. `exact` holds what jsonb would lose and is None when it loses nothing.
    `opaque` says that some part will come back as a stand-in: an unsupported object or a class that no
    import reaches.
    """

    plain: str
    exact: str | None
    opaque: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for an object of an unsupported type: its type's name and its whole repr."""

    type: str
    repr: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Stands for an object whose class cannot be imported, or not be rebuilt, where it is decoded.

    `fields` is what the object was made of (a dict of fields for a model, the iso text for a datetime),
    `reason` one line saying what went wrong. Encoding it again yields the original object's encoding.
    """

    type: str
    fields: object
    reason: str
    tag: str = field(repr=False)

    def __hash__(self) -> int:
        return hash((self.type, self.tag))


@dataclass(frozen=True, slots=True)
class Redacted:
    """Stands for a value that the recorder was told to leave out: `text` is what was recorded in its place."""

    text: str = "[redacted]"


StandIn = Opaque | Unavailable | Redacted


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A decoded value and each stand-in within it, by its path in the plain JSON (`$.messages[0].tool`)."""

    value: object
    stand_ins: tuple[tuple[str, StandIn], ...]
