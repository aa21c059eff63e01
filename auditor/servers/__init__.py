"""One adapter a file: a table of names and small functions that read what one kind of server sends."""
