"""A fitted model: what it holds, how it scores, explains itself and is saved."""
