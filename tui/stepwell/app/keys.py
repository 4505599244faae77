"""Every key of the app. The help screen and the README's table are built from, and held to, these."""

from textual.binding import Binding


def key(keys: str, action: str, id_: str, description: str, tooltip: str) -> Binding:
    """A binding that the footer does not show (the app draws its own) and that the user can remap by its id."""
    return Binding(keys, action, description, show=False, id=id_, tooltip=tooltip)


SUSPEND = key("ctrl+z", "app.suspend_process", "suspend", "suspend", "to the shell; fg comes back")

DEBUGGER: list[Binding] = [
    key("n,right,j,down", "move('forward')", "next", "next step", "over visible rows; a folded loop is one"),
    key("p,left,k,up", "move('back')", "back", "step back", "over visible rows"),
    key("right_square_bracket", "move('agent_next')", "agent-next", "next of this agent", "its next step"),
    key(
        "left_square_bracket",
        "move('agent_previous')",
        "agent-back",
        "previous of this agent",
        "its step before",
    ),
    key("g,home", "move('first')", "first", "first step", "17g goes to step 17"),
    key("G,end", "move('last')", "last", "last step", "as far as the run has got"),
    key("percent_sign", "move('percent')", "percent", "go to percent", "50% is the middle of the run"),
    key(
        "a",
        "move('moment')",
        "moment",
        "asked / after",
        "the world when the step began, or when it had finished",
    ),
    key("c", "move('continue')", "continue", "continue", "to the next breakpoint hit"),
    key("C", "move('reverse')", "reverse", "reverse-continue", "to the hit before"),
    key("b", "choose('break')", "break", "breakpoint", "then n this name, t type, e errors, l laps"),
    key("B", "breakpoints", "breakpoints", "breakpoints", "all of them: switch, delete; and the bookmarks"),
    key("exclamation_mark", "move('error_next')", "error", "next error", "raised or in doubt"),
    key(
        "right_curly_bracket",
        "move('change_next')",
        "change-next",
        "next change",
        "of a watched table's rows",
    ),
    key(
        "left_curly_bracket",
        "move('change_previous')",
        "change-back",
        "previous change",
        "and TABLES shows it",
    ),
    key("r", "move('lap_next')", "lap-next", "next lap", "first call of the next round of a loop"),
    key("R", "move('lap_previous')", "lap-back", "previous lap", "of a loop"),
    key("L", "move('lap_first')", "lap-first", "first lap", "where the loop began"),
    key("enter", "move('fold')", "fold", "fold / unfold", "a loop's laps, or what a step called"),
    key("Z", "move('fold_all')", "fold-all", "fold / unfold all", "every loop and every parent"),
    key(
        "colon",
        "prompt('command')",
        "command",
        "go to, or a command",
        ":17  :50%  :@11:42  :@+90s  :RUN:STEP  :break",
    ),
    key(
        "slash",
        "prompt('search')",
        "search",
        "search",
        "where a text or key=value first appears; capitals count",
    ),
    key("full_stop", "hit('next')", "hit-next", "next hit", "of the search"),
    key("semicolon", "hit('previous')", "hit-back", "previous hit", "of the search"),
    key(
        "apostrophe",
        "choose('jump')",
        "jump",
        "undo jump, bookmark",
        "'' undoes a jump, 'a goes to bookmark a",
    ),
    key("m", "choose('mark')", "mark", "set bookmark", "ma marks this step as a"),
    key("tab", "pane('next')", "pane-next", "next pane", "timeline, input, output, state"),
    key("shift+tab", "pane('previous')", "pane-back", "previous pane", "the other way round"),
    key("space,pagedown", "scroll('page_down')", "page-down", "page down", "in the chosen pane"),
    key("pageup,backspace", "scroll('page_up')", "page-up", "page up", "in the chosen pane"),
    key("J", "scroll('line_down')", "line-down", "line down", "in the chosen pane"),
    key("K", "scroll('line_up')", "line-up", "line up", "in the chosen pane"),
    key("less_than_sign", "scroll('top')", "pane-top", "top of pane", "its first line"),
    key("greater_than_sign", "scroll('bottom')", "pane-bottom", "end of pane", "its last line"),
    key("z", "switch('zoom')", "zoom", "zoom pane", "the chosen pane alone, and back"),
    key("d", "switch('diff')", "diff", "diff of prompts", "this prompt against the one before"),
    key("x", "switch('raw')", "raw", "raw value", "the chosen pane's value as it is stored"),
    key("t", "switch('tables')", "tables", "tables", "rows that this step changed"),
    key("D", "divergence", "divergence", "divergence", "to where the agent's code parts; there both sides"),
    key(
        "o",
        "switch('printed')",
        "printed",
        "agent's output",
        "what its code printed, and notes on its replay",
    ),
    key("T", "browse", "browse", "browse tables", "the watched tables as of this step, and their rows"),
    key("s", "sql", "sql", "SQL at this step", "a query in the replay transaction, as of this moment"),
    key("e", "edit", "edit", "what if", "edit this step's output as JSON; Esc when done"),
    key("E", "edit('outside')", "edit-outside", "what if, in $EDITOR", "the same in your own editor"),
    key("u", "undo_edit", "undo-edit", "undo edit", "back to the output before"),
    key("W", "save", "save", "save what-if", "as a branch, a run of its own"),
    key("M", "switch('whole')", "whole", "all messages", "of the prompt, not only the new ones"),
    key("F", "follow", "follow", "follow", "stay at the tail of a live run"),
    key("y", "copy('address')", "copy-address", "copy address", "RUN:STEP, as every command takes it"),
    key("Y", "copy('value')", "copy-value", "copy value", "what the chosen pane shows"),
    key("v", "pager", "pager", "open in $PAGER", "what the chosen pane shows"),
    key("ctrl+c", "cancel", "cancel", "cancel", "what is running; never quits"),
    key("ctrl+l", "redraw", "redraw", "redraw", "the whole screen"),
    SUSPEND,
    key("question_mark", "help", "help", "keys", "all of them"),
    key("escape", "close('inner')", "leave", "back", "out of a diff, a zoom or AGENT, never of the run"),
    key("q", "close", "close", "out", "of a diff, a zoom or AGENT first, then of the run"),
]

RUNS: list[Binding] = [
    key("enter,right", "open", "open", "open", "the selected run in the debugger"),
    key("j,down,n", "select('down')", "down", "down", "next run"),
    key("k,up,p", "select('up')", "up", "up", "previous run"),
    key("space,pagedown", "select('page_down')", "page-down", "page down", "more runs"),
    key("pageup,backspace", "select('page_up')", "page-up", "page up", "newer runs"),
    key("g,home", "select('first')", "first", "newest", "the first run"),
    key("G,end", "select('last')", "last", "last loaded", "the last run read so far"),
    key(
        "slash", "prompt('filter')", "filter", "filter", "part of a name, or how an id begins; Enter keeps it"
    ),
    key("f", "failed", "failed", "failed only", "runs that failed or died, and back"),
    key("escape", "clear", "clear", "all runs", "no filter, and not the failed ones only"),
    key("F", "follow", "follow", "follow", "stay at the newest run"),
    key("colon", "prompt('command')", "command", "open an address", ":RUN:17, :@failed"),
    key("y", "copy", "copy-id", "copy id", "the whole run id"),
    key("ctrl+c", "cancel", "cancel", "cancel", "what is running; never quits"),
    key("ctrl+l", "redraw", "redraw", "redraw", "the whole screen"),
    SUSPEND,
    key("question_mark", "help", "help", "keys", "all of them"),
    key("q", "close", "quit", "quit", "leave Stepwell"),
]

SQL_EDITOR: list[Binding] = [
    key("enter", "run", "sql-run", "run", "a single line, or what ends with ;"),
    key("alt+enter", "new_line", "sql-new-line", "new line", "Ctrl-J too; a paste may have several"),
    key("up", "up", "sql-before", "statement before", "from the first line; also of earlier sessions"),
    key("down", "down", "sql-after", "statement after", "from the last line"),
    key("ctrl+d", "delete_or_leave", "sql-delete", "delete, or back", "to the run where nothing is typed"),
]
"""While a statement is typed, beside what every line editor has."""

SQL_RESULT: list[Binding] = [
    key("tab,shift+tab", "pane", "sql-focus", "rows / statement", "where the keys go"),
    key("pagedown,space", "scroll('page_down')", "sql-page-down", "page down", "PgDn also while typing"),
    key("pageup,backspace", "scroll('page_up')", "sql-page-up", "page up", "PgUp also while typing"),
    key("j,down,n", "scroll('down')", "sql-down", "row down", "or line"),
    key("k,up,p", "scroll('up')", "sql-up", "row up", "or line"),
    key("right,l,greater_than_sign", "scroll('right')", "sql-right", "column right", "the chosen value"),
    key("left,h,less_than_sign", "scroll('left')", "sql-left", "column left", "the chosen value"),
    key("g,home", "scroll('top')", "sql-top", "first row", "or line"),
    key("G,end", "scroll('bottom')", "sql-bottom", "last row", "or line"),
    key("enter", "row", "sql-row", "whole row", "a name and its value a line, uncut; and back"),
    key("y", "copy('value')", "sql-copy-value", "copy value", "the chosen one"),
    key("Y", "copy('csv')", "sql-copy-result", "copy result", "all rows that are here, as CSV"),
    key("v", "pager", "sql-pager", "open in $PAGER", "all rows that are here"),
    key("question_mark,f1", "help", "sql-help", "keys", "all of them; F1 while typing"),
    key("ctrl+c", "cancel", "sql-cancel", "cancel", "what runs, else what is typed; never quits"),
    key("ctrl+l", "redraw", "sql-redraw", "redraw", "the whole screen"),
    SUSPEND,
    key("q,escape", "close", "sql-close", "out", "of a whole row first, then to the run"),
]
"""On the rows, and for the rest also while typing."""

BROWSER: list[Binding] = [
    key("j,down,n", "scroll('down')", "browser-down", "down", "next table, row or line"),
    key("k,up,p", "scroll('up')", "browser-up", "up", "previous"),
    key("space,pagedown", "scroll('page_down')", "browser-page-down", "page down", "rows are read as you go"),
    key("pageup,backspace", "scroll('page_up')", "browser-page-up", "page up", "likewise"),
    key("right,l,greater_than_sign", "scroll('right')", "browser-right", "column right", "the chosen value"),
    key("left,h,less_than_sign", "scroll('left')", "browser-left", "column left", "the chosen value"),
    key("g,home", "scroll('top')", "browser-top", "first row", "by its key"),
    key("G,end", "scroll('bottom')", "browser-bottom", "last row", "by its key"),
    key("enter", "open", "browser-open", "open", "the table; the row, whole, with its story; and back"),
    key("slash", "prompt", "browser-key", "go to key", "or the next higher one; a comma between columns"),
    key("y", "copy", "browser-copy", "copy", "the chosen value, or the whole row"),
    key("s", "sql", "browser-sql", "SQL at this step", "and back here"),
    key("ctrl+c", "cancel", "browser-cancel", "cancel", "what is running; never quits"),
    key("ctrl+l", "redraw", "browser-redraw", "redraw", "the whole screen"),
    SUSPEND,
    key("question_mark", "help", "browser-help", "keys", "all of them"),
    key("q,escape", "close", "browser-close", "back", "to the rows, the tables, the run"),
]

SQL: list[Binding] = [*SQL_EDITOR, *SQL_RESULT]

DIVERGENCE: list[Binding] = [
    key("n,j,down", "difference('next')", "sides-next", "next difference", "of the two sides"),
    key("p,k,up", "difference('previous')", "sides-back", "previous difference", "of the two sides"),
    key("space,pagedown", "scroll('page_down')", "sides-page-down", "page down", "both sides"),
    key("pageup,backspace", "scroll('page_up')", "sides-page-up", "page up", "both sides"),
    key("J", "scroll('line_down')", "sides-line-down", "line down", "both sides"),
    key("K", "scroll('line_up')", "sides-line-up", "line up", "both sides"),
    key("g,home", "scroll('top')", "sides-top", "first line", "of both sides"),
    key("G,end", "scroll('bottom')", "sides-bottom", "last line", "of both sides"),
    key("z", "layout", "sides-layout", "other layout", "beside each other, or one below the other"),
    key("enter", "open", "sides-open", "to its step", "and back to the run"),
    key("question_mark", "help", "sides-help", "keys", "all of them"),
    key("q,D,escape,ctrl+c", "close", "sides-close", "back", "to the run"),
]

LIVE: list[Binding] = [
    key("y", "go_on", "live-go-on", "go on for real", "once it is said which calls that will be"),
    key("ctrl+c", "stop", "live-stop", "end it", "what it has done by then stays in the branch"),
    key("space,pagedown", "scroll(1)", "live-page-down", "page down", "where not all is in view"),
    key("pageup,backspace", "scroll(-1)", "live-page-up", "page up", "likewise"),
    key("q,escape", "close", "live-close", "back", "to the run; not while it goes on"),
]
"""Before an agent goes on for real, and while it does."""

JSON_EDITOR: list[Binding] = [
    key("escape,ctrl+d", "done", "json-done", "done", "see what would be otherwise"),
    key("ctrl+o", "outside", "json-outside", "in $EDITOR", "what is typed so far, and back"),
    key("ctrl+c", "give_up", "json-give-up", "as it was", "nothing is edited"),
]
"""While an output is edited, beside what every line editor has."""
