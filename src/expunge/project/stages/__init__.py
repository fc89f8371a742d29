"""What each stage does, a file each, with its own table of the project file. The list of them is in `pipeline`."""
