"""The learner's code runs in a process of its own, so that nothing it does can hang the notebook.

`process.py` is the notebook's end, `__main__.py` the other; they speak in pickles, one after another.
The child is started once and kept warm; it ends when the notebook's end of the pipe is closed.
"""

from counterpoint.grading.child.attempt import Attempt, Failure, Other, Wait
from counterpoint.grading.child.process import Child, Limits, Stopped

__all__ = ["Attempt", "Child", "Failure", "Limits", "Other", "Stopped", "Wait"]
