"""The command line of toolpulse: the whole API for a person at a terminal, against a URL or a local data folder.

`main` assembles the commands, `targets` decides which app a command talks to, `client` sends its requests, `output`
shows what came back. `local` runs the app's functions in this process if no app runs on the data folder.
"""
