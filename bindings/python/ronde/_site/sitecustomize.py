"""
Found first by every Python that `python -m ronde.torch` starts with a torch before 2.5, which looks for no entry points: calls
ronde's hook at the end of `import torch`, and does what the sitecustomize that it hides does.
"""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AfterTorch:
    """Finds torch as Python does, and has its loader call the hook."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            from ronde_torch_hook import autoload
            autoload()

        spec.loader.exec_module = exec_module
        return spec


def _run_hidden():
    places = [place for place in sys.path if os.path.abspath(place) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _AfterTorch)
_run_hidden()
