"""What each part of the debugger's screen says: pure functions from a view to lines."""
