"""The command line: thin. It parses, calls, prints."""
