"""What `import lynx` finds in a process started by a program that called `bobcat.lynx.install(children=True)`."""

from bobcat.lynx.installing import install

install(children=True)
