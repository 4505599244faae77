"""Long prompts as differences: only what is new in a prompt is stored, and an earlier one of the same agent named.

A difference to the prompt of step `base` has in its `input` the top-level keys that are not the same there, and of the
list `list` the items that follow what was kept. `removed` names what the base has and this one has not: keys, as
strings, and items of the list, by their index. Of the others the first `keep` begin this list.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stepwell.core.codec import Encoded, dump, encode
from stepwell.core.prompt_texts import PromptText
from stepwell.errors import EncodingError

LONG = 16_384
"""Characters of a prompt's JSON from which on it may be stored as a difference."""
LONGEST_CHAIN = 32
"""A prompt that would be put together from more rows than this is stored whole."""
_LOOKED_AT = 4
"""Bases that are compared message by message where the prompt has not simply grown from one."""

Removed = tuple[str | int, ...]


class Kept(NamedTuple):
    """What a prompt has in common with an earlier one."""

    list: str
    keep: int
    removed: Removed
    changed: tuple[str, ...]
    """Keys that are in the difference besides that of the list."""
    size: int
    """Characters of the difference, about."""


class Delta(NamedTuple):
    """A prompt as the difference to another; `encoded` is its `input`."""

    encoded: Encoded
    keep: int
    list: str
    removed: Removed


def nearest(new: PromptText, bases: Sequence[PromptText]) -> tuple[int, Kept] | None:
    """Which of the bases (the latest last) has most in common with the prompt, and what; None for too little.

    What takes more than half of the whole is stored whole: most of it would have to be read twice.
    """
    able = [(index, key) for index, base in enumerate(bases) if (key := new.conversation(base)) is not None]
    grown = [
        (index, key) for index, key in able if bases[index].ends[key] and new.starts_with(bases[index], key)
    ]
    if grown:
        able = [max(grown, key=lambda pair: len(bases[pair[0]].texts[pair[1]]))]
    found = [(index, kept) for index, key in able[-_LOOKED_AT:] if (kept := compare(new, bases[index], key))]
    best = min(found, key=lambda pair: pair[1].size, default=None)
    return best if best is not None and best[1].size * 2 <= new.size else None


def compare(new: PromptText, base: PromptText, key: str) -> Kept | None:
    """What the prompt has in common with the base, in which `key` is a list too; None where orders of keys differ."""
    changed = tuple(name for name in new.texts if name != key and not new.same(base, name))
    rebuilt = [name for name in base.texts if name in new.texts]
    rebuilt += [name for name in new.texts if name not in base.texts]
    if rebuilt != list(new.texts) or key in new.types or key in base.types:
        return None
    gone: Removed = tuple(name for name in base.texts if name not in new.texts)
    if new.starts_with(base, key):
        keep = len(base.ends[key])
    else:
        keep, dropped = _subsequence(base.items(key), new.items(key))
        gone += dropped
    size = sum(len(new.texts[name]) for name in changed) + len(new.tail(key, keep))
    return Kept(key, keep, gone, changed, size)


def _subsequence(old: Sequence[object], new: Sequence[object]) -> tuple[int, Removed]:
    """How many items begin both once others are removed from the old, and the indices of those."""
    keep = 0
    dropped: list[int] = []
    last = -1
    for index, item in enumerate(old):
        if keep < len(new) and item == new[keep]:
            keep, last = keep + 1, index
        else:
            dropped.append(index)
    return keep, tuple(index for index in dropped if index < last)


def difference(value: Mapping[str, object], new: PromptText, kept: Kept) -> Delta | None:
    """The prompt `value`, whose text `new` is, without what it has in common with its base.

    None where it is no longer what was compared: changed by another thread, or of an odd type.
    """
    wanted = [name for name in new.texts if name in kept.changed or name == kept.list]
    whole = value.get(kept.list)
    if type(whole) is not list:
        return None
    try:
        encoded = encode({name: whole[kept.keep :] if name == kept.list else value[name] for name in wanted})
    except (EncodingError, LookupError):
        return None
    texts = (
        f"{dump(name)}:{new.tail(name, kept.keep if name == kept.list else 0) if name in new.ends else new.texts[name]}"
        for name in wanted
    )
    if encoded.plain != f"{{{','.join(texts)}}}":
        return None
    return Delta(encoded, kept.keep, kept.list, kept.removed)
