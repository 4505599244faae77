"""`@stepwell.tool`: a function that records itself where a run is under way."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from stepwell.recorder.context import current_run
from stepwell.recorder.describe import MARK

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(*, name: str | None = None) -> Callable[[F], F]: ...
def tool(fn: F | None = None, /, *, name: str | None = None) -> F | Callable[[F], F]:
    """Make each call of a function a step of the current run (`current_run`); without one it is called plainly.

    `name` is what the step is called, the function's own name by default.
    """
    return functools.partial(_decorate, name=name) if fn is None else _decorate(fn, name=name)


def _decorate(fn: F, *, name: str | None) -> F:
    def record(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        run = current_run()
        if run is None:
            return fn(*args, **kwargs)
        return run.named(name or fn.__name__).tool(fn, *args, **kwargs)

    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def decorated(*args: Any, **kwargs: Any) -> Any:
            return await record(args, kwargs)

    else:

        @functools.wraps(fn)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            return record(args, kwargs)

    setattr(decorated, MARK, fn)
    return decorated  # type: ignore[return-value]  # it is called as the function is
