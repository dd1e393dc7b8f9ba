"""`LastingWidget`: a widget whose saved notebook still shows it, and lets it be used, without a kernel."""

import base64
import io
import itertools
import os
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from counterpoint.viz import offline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_count = itertools.count(1)


class LastingWidget(anywidget.AnyWidget):
    """A subclass sets `_esm` and `_css`, and defines the five methods that raise here."""

    element_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: str, **traits: Any) -> None:
        super().__init__(element_id=f"cp-{kind}-{os.getpid()}-{next(_count)}", **traits)

    def figure(self) -> "Figure":
        """The picture without a browser."""
        raise NotImplementedError

    def _texts(self) -> tuple[str, str]:
        """Its module and its style sheet."""
        raise NotImplementedError

    def _title(self) -> str:
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """The traits that the page without a kernel begins with."""
        raise NotImplementedError

    def _height(self) -> int:
        """Pixels that the page is given until it has measured itself."""
        raise NotImplementedError

    def html(self) -> str:
        """A whole HTML document that works without a kernel or a network."""
        return offline.document(self._state(), *self._texts(), self._title())

    def png(self) -> bytes:
        """`figure()` as PNG."""
        out = io.BytesIO()
        self.figure().savefig(out, format="png", dpi=110)
        return out.getvalue()

    def still(self, live: bool = False) -> str:
        """HTML that stands in for the widget where there is no kernel; `live`: only where it is not shown."""
        name = self.element_id if live else ""
        return offline.frame(self.html(), self.png(), self._title(), self._height(), name)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live widget, and for whoever cannot show it the stand-in and the picture."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        data = dict(data) | {"text/plain": repr(self), "text/html": self.still()}
        return data | {"image/png": _base64(self.png())}, metadata

    def _ipython_display_(self) -> None:
        """The live widget, and below it the stand-in, hidden while the widget is there.

        Two outputs, because JupyterLab shows only its favourite format of an output, and a widget without
        its kernel shows an error instead of the next format.
        """
        from IPython.display import publish_display_data

        bundle = super()._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        publish_display_data(dict(data) | {"text/plain": repr(self)}, metadata)
        still = {"text/plain": repr(self), "text/html": self.still(live=True)}
        publish_display_data(still | {"image/png": _base64(self.png())})


def _base64(png: bytes) -> str:
    return base64.b64encode(png).decode("ascii")
