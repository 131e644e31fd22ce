"""What all other folders use: arrays of any library, threads, memory, progress, files."""
