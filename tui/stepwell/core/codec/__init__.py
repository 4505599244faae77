"""Any Python value as JSON that Postgres can query, and back again, equal to the last bit and type.

A value becomes two texts. `plain` is ordinary JSON for a jsonb column. `exact` holds what jsonb would lose,
and is None for the many values of which jsonb loses nothing. Its JSON object has these members, all but `v`
optional:

    v   the version of this format, 1
    o   key orders. A dict with the same keys as one of these lists has this order; others have jsonb's
    x   further key orders, for dicts that break a rule of `o`; named by their index
    h   heads: a code and what many values share, such as `["model", "openai.types.chat:ChatCompletion", …]`
    t   the tree. A node is `{key or index or first-last: node}` for the items of a container, or
        `[head, node of the base, argument]` for a value that the plain form only stands for; a head is a code
        (`t` tuple, `f` float, `mask` a str with forbidden characters, …) or an index into `h`

Classes are named, never pickled: to decode is to import them and set their recorded fields, without calling
`__init__`. What cannot be kept or cannot be rebuilt comes back as a stand-in that says so. Shared structure
is not kept: an object reached twice comes back as two equal ones.
"""

import re

from stepwell.core.codec.decoder import Decoder, keep, make, show
from stepwell.core.codec.encoder import MAX_DEPTH, Encoder
from stepwell.core.codec.ordinary import both_ordinary, canonical_ordinary, encode_ordinary
from stepwell.core.codec.text import digest, dump, parse
from stepwell.core.codec.values import Encoded, Opaque, Rebuilt, Redacted, StandIn, Unavailable
from stepwell.errors import EncodingError

LONGEST = 1_000_000_000
"""Characters of a JSON text. JSONB holds about a quarter of it, of which only Postgres can tell."""

__all__ = [
    "MAX_DEPTH",
    "Encoded",
    "Opaque",
    "Rebuilt",
    "Redacted",
    "StandIn",
    "Unavailable",
    "canonical",
    "decode",
    "digest",
    "dump",
    "encode",
    "encode_and_canonical",
    "hold",
    "opaque_types",
    "parse",
    "rebuild",
    "redacted_names",
    "view",
]

_PLACES = re.compile("[0-9]+(-[0-9]+)?")
"""How a node of the exact column names items of a list."""


def encode(value: object) -> Encoded:
    """The value as texts for two jsonb columns.

    Raises EncodingError for what cannot be kept at all: a value that contains itself, is nested deeper than
    MAX_DEPTH levels, is changed by another thread meanwhile, or is longer than Postgres takes any text.
    """
    encoded = encode_ordinary(value) or Encoder().encode(value)
    if len(encoded.plain) > LONGEST:
        raise EncodingError(
            f"its JSON has {len(encoded.plain):,} characters: Postgres takes 1 GB of text and 256 MB of JSONB"
        )
    return encoded


def decode(plain: object, exact: object | None) -> object:
    """The value that was encoded, from both columns parsed with `parse`. Imports the classes it needs.

    What cannot be rebuilt becomes an `Opaque` or `Unavailable`, what was left out a `Redacted`. Raises
    EncodingError for a value that a newer version recorded, for columns that do not fit each other (a row
    edited by hand), and for one nested too deeply for the interpreter.
    """
    return rebuild(plain, exact).value


def rebuild(plain: object, exact: object | None) -> Rebuilt:
    """Like `decode`, and says which parts are stand-ins."""
    decoder = Decoder(exact, make)
    value = decoder.decode(plain)
    return Rebuilt(value, tuple(decoder.stand_ins))


def hold(plain: object, exact: object | None) -> object:
    """Like `decode`, but each object is a stand-in that encodes to what the object did, and nothing is imported.

    So `canonical` of what is held is that of the value that was recorded. Raises EncodingError as `decode` does.
    """
    return Decoder(exact, keep).decode(plain)


def view(plain: object, exact: object | None) -> object:
    """The value for display: only dicts, lists, strings, numbers, bools and None, and nothing is imported.

    Key order, numbers and strings are restored. A model is the dict of its fields, a tuple or set a list, an
    enum member its value, bytes their repr, a time its iso text, a Decimal its digits, an opaque object its
    repr, an int too long to print its hexadecimal digits. Keys that are not strings appear as text. Where
    `decode` would raise EncodingError, the view is `plain` as it stands.
    """
    try:
        return Decoder(exact, show).decode(plain)
    except EncodingError:
        return plain


def opaque_types(exact: object | None) -> tuple[str, ...]:
    """Names of the classes whose objects were kept as their repr, from the parsed `exact` column."""
    heads = exact.get("h") if isinstance(exact, dict) else None
    found = (head for head in heads or () if isinstance(head, list) and head[:1] == ["opaque"])
    return tuple(sorted({str(head[-1]) for head in found}))


def redacted_names(exact: object | None) -> tuple[str, ...]:
    """Names that what was left out stands under, from the parsed `exact` column; an empty text for a whole value."""
    found: dict[str, None] = {}
    nodes = [(exact.get("t") if isinstance(exact, dict) else None, "")]
    while nodes:
        node, name = nodes.pop()
        if isinstance(node, dict):
            inner = [(item, name if _PLACES.fullmatch(key) else key) for key, item in node.items()]
            nodes += reversed(inner)
        elif isinstance(node, list) and node[:1] == ["redacted"]:
            found[name] = None
        elif isinstance(node, list) and len(node) > 1:
            nodes.append((node[1], name))
    return tuple(found)


def canonical(value: object) -> str:
    """A text that two values share if and only if they encode alike, whatever the order of their keys.

    `1`, `1.0` and `True` differ. Memory addresses in the repr of opaque objects are left out, of a connection to a
    database all but its class, so that the same call in another process compares equal. Raises EncodingError as
    `encode` does.
    """
    return canonical_ordinary(value) or Encoder(canonical=True).canonical_text(value)


def encode_and_canonical(value: object) -> tuple[Encoded, str]:
    """What `encode` and `canonical` say of the value. Raises EncodingError."""
    return both_ordinary(value) or (encode(value), canonical(value))
