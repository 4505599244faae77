"""SQL means to Postgres what it meant, with the time in place of what asks for it; of an error, too."""

import random
import re
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import psycopg
import pytest

from stepwell.core.sql_clock import at_time
from stepwell.core.sql_errors import shown
from tests.rerun.orders import make

MEANT = r"""
SELECT now(), NOW(), current_date, localtimestamp(0), current_time::text, pg_catalog.now() AS at
SELECT now() t, (now())::date, now() AT TIME ZONE 'UTC', coalesce(now(), '2020-1-1'), CASE WHEN false THEN NULL ELSE
    now() END
SELECT now() - interval '1 day', current_date - 7, extract(epoch FROM now()), trim(FROM now()::text),
    to_jsonb(now())
SELECT made IS DISTINCT FROM now(), made BETWEEN SYMMETRIC now() AND '2020-1-1', (made, now()) OVERLAPS (made,
    now()) FROM orders
SELECT count(*) FROM orders WHERE made IN (now()) OR made = ANY (ARRAY[now(), made]) OR made::date = current_date
SELECT made - now(), count(*), grouping(made - now()) FROM orders GROUP BY GROUPING SETS ((made - now()), ()) ORDER
    BY 1
SELECT DISTINCT now() - made FROM orders ORDER BY now() - made
SELECT DISTINCT ON (now() - made) id FROM orders ORDER BY now() - made, id
SELECT date_trunc('day', made - now()) FROM orders GROUP BY ROLLUP (date_trunc('day', made - now())) HAVING
    max(made) < now()
SELECT count(*) FILTER (WHERE made < now()), max(now()), percentile_cont(0.5) WITHIN GROUP (ORDER BY now() - made)
    FROM orders
SELECT sum(qty) OVER (PARTITION BY now() > made ORDER BY made RANGE BETWEEN now() - now() PRECEDING AND CURRENT ROW)
    FROM orders
SELECT id FROM orders ORDER BY now() - made, id OFFSET 1 FETCH FIRST (extract(day FROM now())::int) ROWS ONLY
SELECT g, now() FROM generate_series(now() - interval '3 days', now(), interval '1 day') AS g
SELECT id FROM orders WHERE made < now() ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
SELECT l.n FROM orders o, LATERAL (SELECT now() - o.made AS n) l JOIN orders i ON extract(day FROM now()) > i.id
WITH RECURSIVE t (at) AS (VALUES (now()) UNION SELECT at - interval '1 day' FROM t WHERE at > now() - interval '3
    day') SELECT * FROM t
WITH u AS (UPDATE orders SET made = now() WHERE id = 1 RETURNING id, now()) SELECT * FROM u
SELECT now() UNION ALL SELECT '2020-1-1' ORDER BY now
SELECT * FROM (SELECT now()) t CROSS JOIN (VALUES (current_date)) AS v (day)
SELECT now FROM now()
SELECT t, count(*) FROM orders, now() AS t WHERE made < t GROUP BY t
SELECT t.t FROM (now() AS t CROSS JOIN orders)
SELECT x.y FROM current_timestamp(0) x (y) JOIN LATERAL current_date ON true
SELECT * FROM ROWS FROM (now(), generate_series(1, 2)) AS x
SELECT current_schema(), current_schema, current_schemas(false), current_schemas(true), current_schema() AS a
SELECT relname, pg_table_is_visible(oid) AS seen FROM pg_class c WHERE pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1
SELECT pg_get_constraintdef(oid, true) FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = ANY (current_schemas(false))
    ORDER BY 1
INSERT INTO orders (made) VALUES (now()), (DEFAULT) RETURNING made, now()
INSERT INTO orders (made) SELECT now() - g * interval '1 day' FROM generate_series(1, 3) g RETURNING made
INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET made = now() WHERE orders.made < now() RETURNING
    made
UPDATE orders SET (made, qty) = (now(), 2) WHERE id = 1 RETURNING made
UPDATE orders SET made = t FROM now() AS t WHERE orders.made < t
DELETE FROM orders USING now() AS t WHERE made < t RETURNING id
MERGE INTO orders o USING now() AS n ON o.made = n WHEN MATCHED AND made < now() THEN UPDATE SET made = now() WHEN
    NOT MATCHED THEN INSERT (made) VALUES (now())
COPY (SELECT now(), current_date) TO STDOUT
DECLARE c CURSOR FOR SELECT now()
PREPARE p (timestamptz) AS SELECT $1; EXPLAIN EXECUTE p (now()); SELECT 1; EXECUTE p (now()); DEALLOCATE p
SET LOCAL TIME ZONE 'Asia/Tokyo'; SELECT now(), current_date, localtime
"""


@pytest.fixture(scope="module")
def connection(runs_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    make(runs_dsn)
    with psycopg.connect(runs_dsn) as opened:
        yield opened


def found(connection: psycopg.Connection[Any], text: str) -> list[Any]:
    """All that comes of a text, which changes nothing."""
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        if text.startswith("COPY"):
            with cursor.copy(text) as copied:
                return [bytes(each) for each in copied]
        cursor.execute(text)
        results = []
        while True:
            names = [(column.name, column.type_code) for column in cursor.description or ()]
            results.append([names, cursor.statusmessage, cursor.fetchall() if names else None])
            if not cursor.nextset():
                return results


@pytest.mark.parametrize("text", re.split(r"\n(?! )", MEANT.strip()))
def test_a_statement_that_is_told_the_time_of_now_gives_what_it_gives_by_itself(
    connection: psycopg.Connection[Any], text: str
) -> None:
    with connection.transaction():
        now = connection.execute("SELECT now()").fetchall()[0][0].astimezone(UTC)
        told = at_time(text, now, now).text
        assert found(connection, told) == found(connection, text)


def test_a_place_in_a_statement_is_shown_as_libpq_does(connection: psycopg.Connection[Any]) -> None:
    dice = random.Random(7)

    def some() -> str:
        parts = [
            "1, ",
            "'é', ",
            "'日本', ",
            "\n",
            "\t",
            "\r\n",
            " ",
            "'abcdefgh', ",
            "-- x\n",
            "/* 日 */",
            "\r",
        ]
        return "".join(dice.choice(parts) for _ in range(dice.randrange(25)))

    for _ in range(200):
        text = f"SELECT {some()}{dice.choice(['nosuch', 'FROM )', '1 1', chr(39)])}{some()}"
        with pytest.raises(psycopg.Error) as caught, connection.transaction():
            connection.execute(text)
        assert shown(text, int(caught.value.diag.statement_position or 0) - 1) in str(caught.value)
