"""Read, score and write rows of any kind in bulk, batch by batch."""
