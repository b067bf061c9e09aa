"""Hooks of `pip install .` in a clone's root: those of bindings/python, called there."""
import os
import pathlib

os.chdir(pathlib.Path(__file__).resolve().parent.parent)

from scikit_build_core.build import *  # noqa: E402, F401, F403
