"""An agent that does next to nothing but ask. It imports nothing, so that what is measured is the replay."""

from typing import Any


def answer(question: str, turn: int) -> dict[str, Any]:
    return {"text": f"{question} {turn}"}


class Trivial:
    """Asks a model and a tool in turns."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, run: Any) -> int:
        for turn in range(self.steps // 2):
            reply = run.llm(answer, "what next?", turn)
            run.tool(answer, reply["text"], turn)
        return self.steps


ten, thousand, ten_thousand = Trivial(10), Trivial(1_000), Trivial(10_000)
