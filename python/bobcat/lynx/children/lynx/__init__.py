"""What `import lynx` finds in a process started by a program that called `bobcat.lynx.install(children=True)`."""

import sys

import bobcat.lynx

bobcat.lynx.install(children=True)
sys.modules[__name__] = bobcat.lynx
