"""The road, pure: records and the functions between them. No clock, no socket, no database, no console."""
