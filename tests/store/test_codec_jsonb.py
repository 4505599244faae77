"""The codec against the jsonb of a real Postgres, which the pure tests only imitate."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

from stepwell.core import codec
from tests.core.codec_values import json_shaped, jsonb, same, values

Connection = psycopg.Connection[Any]


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def _printed(connection: Connection, *texts: str | None) -> list[str | None]:
    row = connection.execute(f"SELECT {', '.join(['%s::jsonb::text'] * len(texts))}", texts).fetchone()
    assert row is not None
    return list(row)


brief = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@brief
@given(value=values | json_shaped)
def test_every_supported_value_comes_back_from_postgres(connection: Connection, value: object) -> None:
    encoded = codec.encode(value)
    plain, exact = _printed(connection, encoded.plain, encoded.exact)
    assert plain is not None
    assert same(codec.decode(codec.parse(plain), exact and codec.parse(exact)), value)


@brief
@given(value=values | json_shaped)
def test_the_imitation_prints_what_postgres_prints(connection: Connection, value: object) -> None:
    text = codec.encode(value).plain
    [printed] = _printed(connection, text)
    assert printed is not None
    assert codec.parse(printed) == codec.parse(jsonb(text))
    assert list(_keys(codec.parse(printed))) == list(_keys(codec.parse(jsonb(text))))


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


@pytest.mark.parametrize("text", ['"\\u0000"', '"\\ud800"', "NaN", "1e140000"])
def test_postgres_refuses_what_the_imitation_refuses(connection: Connection, text: str) -> None:
    with pytest.raises(psycopg.Error):
        _printed(connection, text)
    with pytest.raises(ValueError, match=r"not|beyond"):
        jsonb(text)
