"""Papers' figures, reproduced: a picture, its data, the claim and the verdict."""

from berm.apps.figures.base import Figure, Result, Verdict, run_figures

__all__ = ["Figure", "Result", "Verdict", "run_figures"]
