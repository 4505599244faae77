"""Steps in the order in which a file tells them, numbered and counted as the recorder would."""

from dataclasses import replace
from datetime import datetime

from stepwell.core.recording import Failure, ImportedStep


class Builder:
    """Collects the steps of one run."""

    def __init__(self) -> None:
        self._steps: list[ImportedStep] = []
        self._finished = 0

    def begin(
        self,
        type_: str,
        input_: object,
        *,
        name: str | None = None,
        agent: str | None = None,
        seed: int | None = None,
        started: datetime | None = None,
    ) -> int:
        """A new step that is in doubt until it is finished; its number."""
        number = len(self._steps) + 1
        self._steps.append(
            ImportedStep(
                number, type_, input_, name=name, agent=agent, seed=seed, started=started,
                finished_before=self._finished,
            )
        )  # fmt: skip
        return number

    def finish(
        self,
        number: int,
        output: object,
        *,
        error: Failure | None = None,
        finished: datetime | None = None,
        tokens: tuple[int | None, int | None] = (None, None),
        finish_reason: str | None = None,
    ) -> None:
        self._finished += 1
        self._steps[number - 1] = replace(
            self._steps[number - 1],
            output=output,
            error=error,
            finished=finished,
            finished_order=self._finished,
            started_before=len(self._steps),
            tokens_in=tokens[0],
            tokens_out=tokens[1],
            finish_reason=finish_reason,
        )

    def steps(self) -> tuple[ImportedStep, ...]:
        """All of them. In a run of one agent it goes without a name, as in a recorded run."""
        if len({step.agent for step in self._steps}) > 1:
            return tuple(self._steps)
        return tuple(replace(step, agent=None) for step in self._steps)
