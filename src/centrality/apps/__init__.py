"""Applications on top of the library: the command line, the explorer, the service. Nothing below imports them."""
