"""What a program on this machine is: signals, ranks, sockets, one-line errors."""
