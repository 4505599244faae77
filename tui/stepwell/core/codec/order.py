"""Key order. jsonb sorts keys by length in bytes, then by bytes; most dicts have another order."""

from functools import lru_cache

Keys = tuple[str, ...]

# Above this many keys a permutation at the dict's own path is shorter than a rule that names the keys.
_RULE_LIMIT = 64


def jsonb_order(keys: Keys) -> Keys:
    """The keys as jsonb sorts them."""
    return _short(keys) if len(keys) <= _RULE_LIMIT else _sorted(keys)


def _sorted(keys: Keys) -> Keys:
    return tuple(sorted(keys, key=_rank))


_short = lru_cache(maxsize=1024)(_sorted)


def _rank(key: str) -> tuple[int, bytes]:
    data = key.encode()
    return len(data), data


class OrderBook:
    """Collects the key orders of one value while it is encoded.

    The first order seen of a set of keys becomes the rule for all dicts with these keys. It is written down
    only if jsonb orders them otherwise. A dict that breaks the rule names an entry of `others`.
    """

    def __init__(self) -> None:
        self.rules: list[Keys] = []
        self.others: list[Keys] = []
        self._ruled: set[Keys] = set()

    def note(self, keys: Keys) -> int | list[int] | None:
        """What a dict with keys in this order has to say at its own path: None if a rule covers it.

        Called once for each distinct order.
        """
        stored = jsonb_order(keys)
        if len(keys) > _RULE_LIMIT:
            if stored == keys:
                return None
            place = {key: index for index, key in enumerate(stored)}
            return [place[key] for key in keys]
        if stored not in self._ruled:
            self._ruled.add(stored)
            if stored != keys:
                self.rules.append(keys)
            return None
        self.others.append(keys)
        return len(self.others) - 1

    def listed(self) -> list[Keys]:
        """The rules in an order that does not depend on where in the value they were met."""
        return sorted(self.rules)
