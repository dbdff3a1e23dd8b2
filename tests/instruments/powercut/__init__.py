"""Real power cuts: the real processes on a file system that forgets what was not fsynced."""
