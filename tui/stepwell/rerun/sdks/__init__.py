"""How the clients that agents use hand out their answers."""
