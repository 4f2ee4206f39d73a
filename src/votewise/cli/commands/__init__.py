"""One file a command, each loading the library only when it is called."""
