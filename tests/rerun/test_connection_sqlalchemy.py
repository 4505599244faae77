"""SQLAlchemy on `run.connection`: Core and sessions of the ORM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, ForeignKey, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.pool import StaticPool

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from tests.rerun.orders import again, changer, digest, make, record, tell


class Base(DeclarativeBase):
    """What both are."""


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(server_default="open")
    qty: Mapped[int]
    notes: Mapped[list[Note]] = relationship(back_populates="order")


class Note(Base):
    __tablename__ = "notes"
    number: Mapped[int] = mapped_column(primary_key=True)
    about: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    body: Mapped[str]
    order: Mapped[Order] = relationship(back_populates="notes")


@pytest.fixture
def dsn(schema_dsn: str) -> str:
    make(schema_dsn)
    return schema_dsn


def engine_on(run: Run) -> Engine:
    return create_engine("postgresql+psycopg://", creator=lambda: run.connection, poolclass=StaticPool)


def core(dsn: str) -> Callable[[Run], object]:
    change = changer(dsn)

    def count(connection: Connection) -> Any:
        return connection.execute(text("SELECT count(*), sum(qty) FROM orders")).one()

    def agent(run: Run) -> None:
        engine = engine_on(run)
        with engine.connect() as connection:
            run.tool(tell, list(count(connection)))
            run.tool(change, "DELETE FROM orders WHERE id = 1")
            connection.rollback()
            run.tool(tell, list(count(connection)))
            connection.execute(text("UPDATE orders SET qty = qty + 1 WHERE id < :most"), {"most": 5})
            run.tool(tell, list(count(connection)))
            connection.commit()
        with engine.begin() as connection:
            with connection.begin_nested() as nested:
                connection.execute(text("DELETE FROM orders WHERE id = 2"))
                nested.rollback()
            run.tool(tell, list(count(connection)))

    return agent


def orm(dsn: str) -> Callable[[Run], object]:
    change = changer(dsn)

    def agent(run: Run) -> None:
        engine = engine_on(run)
        with Session(engine) as session:
            order = session.scalars(select(Order).where(Order.id == 3)).one()
            run.tool(tell, order.status)
            order.status = "packed"
            order.notes.append(Note(body="first"))
            made = Order(qty=4)
            session.add(made)
            session.commit()
            run.tool(tell, [made.id, made.status, [note.number for note in order.notes]])
            run.tool(change, "UPDATE orders SET qty = 99 WHERE id = 4")
            found = session.scalars(select(Order).where(Order.id.in_([3, 4])).order_by(Order.id))
            run.tool(tell, [(each.id, each.status, each.qty) for each in found])
            session.delete(session.get_one(Order, 5))
            session.commit()
        with Session(engine) as session:
            run.tool(tell, [each.id for each in session.scalars(select(Order).order_by(Order.id))])

    return agent


@pytest.mark.parametrize("kind", [core, orm])
def test_an_agent_on_sqlalchemy_does_the_same(
    dsn: str, kind: Callable[[str], Callable[[Run], object]]
) -> None:
    agent = kind(dsn)
    recorded: RecordedRun = record(dsn, agent)
    before = digest(dsn)
    for _ in range(2):
        report = again(dsn, recorded, agent)
        assert report.divergence is None, report
        assert report.notes == ()
        assert report.refused is None
    assert digest(dsn) == before
