"""The package `lynx` in child processes of a program that called `bobcat.lynx.install(children=True)`."""

import sys

import bobcat.lynx

bobcat.lynx.install(children=True)
sys.modules[__name__] = bobcat.lynx
