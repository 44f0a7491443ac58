"""The package `lynx` in child processes of a program that installed version 2.11 with `children=True`."""

import sys

import bobcat.lynx

bobcat.lynx.install(children=True, version="2.11")
sys.modules[__name__] = bobcat.lynx
