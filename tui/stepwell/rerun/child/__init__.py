"""Replays in a process of their own: `process.AgentProcess` is the side of whoever asks for them.

`python -m stepwell.rerun.child` is the other side, three processes one inside the other. The keeper has the recording
and none of the user's code; it ends when whoever asked is gone. Its child imports the agent, and is replaced when a
file of it changes. A fork of that one replays, in a process group of its own, and is gone afterwards.
"""
