"""Train the networks: choose rows to compare, add noise to rows, compute the losses, follow a schedule of steps."""
