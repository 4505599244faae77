"""What the signs on the debugger's screen mean, for the end of its help. Pure."""

from collections.abc import Mapping

OF_TABLES: Mapping[str, str] = {
    "exact": "these are the rows of that moment",
    "uncertain": "something changed it that nobody can log",
    "unknown": "cannot be told; rows shown are today's",
    "->": "from before the step to after it",
    "+": "a row that was not there before the step",
    "-": "a row that is gone after it",
    "2+ rows": "at least 2: not all was looked at",
    "this run": "by the recorded agent's connection",
    "another: X": "by somebody else: application and process",
    "by X": "whether that is the agent is not known",
}
SIGNS: Mapping[str, Mapping[str, str]] = {
    "Signs of a step": {
        "L T S": "a model call, a tool call, a change of the state; others by their initial",
        "!": "it raised",
        "?": "in doubt: it was begun, and how it ended was never written",
        "~": "still running",
        "D": "here the agent's code does otherwise",
        "E": "its output is edited",
        "e": "stale: what it was given is from there",
        "F": "the first own step of a branch",
        "x": "the model did not see its whole output; known once the step was looked at",
        "w": "it wrote the state",
        "o3": "third lap of a loop: the same calls with the same results again",
        "o2-24": "one row for these laps, folded: Enter shows each step",
        "*": "a breakpoint stops here",
        "'a": "bookmark a, set by ma: 'a goes to it, B lists all of them",
        ">": "where you are",
        "+5": "five steps that it called, folded into its row",
        ".31  1.8  1m31": "how long it took: in seconds, or minutes and seconds",
        "| |-": "below the step that called it",
    },
    "Signs in the strip": {
        "#": "where you are; the strip is the whole run, a cell a step",
        "l t s": "small letters: a further lap of a loop",
        "! ? ~ D E F": "as of a step; e is the first of the stale ones",
        "= .": "with several agents: a call of this one is under way; a step of another",
        "a long run": "a cell stands for several steps: it shows the worst of ! ? ~ among them, "
        "or else their kind that is rarest in the run",
    },
    "Signs of the panes": {
        "[OUTPUT]": "the chosen pane: Tab chooses, Space scrolls it",
        "all  1-7/307": "lines in view, of how many",
        "1-7/307+": "there are more below that have not been laid out yet",
        "set @3": "step 3 gave it this value",
    },
    "While an output is edited": {
        "Esc Ctrl-D": "done: see what would be otherwise",
        "Ctrl-O": "go on in $EDITOR",
        "Ctrl-C": "as it was",
        "Ctrl-_ Ctrl-Y": "undo, redo",
    },
    "Signs of tables": OF_TABLES,
    "Signs at the bottom": {
        "17/318+ 5%": "the 17th of 318 steps so far; + while the run goes on",
        "after  asked": "the world when the step had finished, or when it began",
        "+12 new": "so many steps were added since you left the tail of a live run",
        "1-17 22ms": "steps 1 to 17 were replayed in 22 milliseconds",
        "on 1-9 kept": "of these an earlier move had kept the totals",
        "75+13 tok": "tokens of the prompts and of the replies up to here; ? where none are recorded",
        "agent to 17": "its code was run to step 17",
        "rolled back": "the replay's transaction: nothing was written",
    },
}
"""By heading, each sign in words."""
