"""The universal decoder on the command line: the options that ask for one, and the command that writes its prompt."""
