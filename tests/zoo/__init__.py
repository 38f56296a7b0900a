"""Functions to differentiate, by area. Each is written as a user would, and knows nothing of the engine."""
