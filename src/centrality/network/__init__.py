"""Define what is trained: scaled rows in, a global logit and local potentials out."""
