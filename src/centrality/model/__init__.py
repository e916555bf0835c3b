"""A fitted model: score with it, explain it, save it."""
