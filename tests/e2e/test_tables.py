"""What a step changed in the database, seen in a terminal while the run goes on."""

import subprocess
import sys
from collections.abc import Callable

import psycopg

import stepwell
from stepwell.store.watching import watch
from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Terminal

OTHER = """
import sys, psycopg
with psycopg.connect(sys.argv[1], application_name="warehouse-sync") as connection:
    connection.execute("UPDATE stock SET held = held - 1 WHERE item = 'lamp'")
"""


def test_a_row_that_another_process_changed_during_a_call_is_told_from_the_agents_own(
    terminal: Callable[..., Terminal], schema_dsn: str
) -> None:
    with psycopg.connect(schema_dsn, autocommit=True, application_name="shop-agent") as shop:
        shop.execute("CREATE TABLE orders (id bigint PRIMARY KEY, status text)")
        shop.execute("CREATE TABLE stock (item text PRIMARY KEY, held int)")
        shop.execute("INSERT INTO orders VALUES (8841, 'paid')")
        shop.execute("INSERT INTO stock VALUES ('lamp', 5)")
        for table in ("orders", "stock"):
            watch(shop, table)

        def refund(order: int) -> str:
            shop.execute("UPDATE orders SET status = 'refunded' WHERE id = %s", [order])
            subprocess.run([sys.executable, "-c", OTHER, schema_dsn], check=True, timeout=60)
            return "refunded"

        def look(order: int) -> object:
            return shop.execute("SELECT status FROM orders WHERE id = %s", [order]).fetchone()

        with stepwell.Recorder(schema_dsn) as recorder, recorder.run("refunds") as run:
            agent = run.named(connection=shop)
            agent.tool(look, order=8841)
            debugger = terminal(*STEPWELL, "--dsn", schema_dsn, "@last")
            debugger.wait_for("1/1+")
            debugger.type("t")
            debugger.wait_for("[TABLES]", "no row changed in orders, stock")
            agent.tool(refund, order=8841)
            debugger.wait_for("1/2+")
            debugger.type("n")
            debugger.wait_for(
                "status paid -> refunded", "this run", "held 5 -> 4", "another: warehouse-sync ("
            )
            debugger.type("T")
            debugger.wait_for("> orders  1 row changed  exact")
            debugger.type("j", "Enter")
            debugger.wait_for("> lamp     4", "from the first row, to the last row")
            debugger.type("q", "q", "p", "T", "j", "Enter")
            debugger.wait_for("> lamp     5", "stock as of")
            debugger.type("q", "q", "q")
            assert debugger.wait() == 0
