"""The doors to the outside: the only rooms that hold a clock or a socket."""
