"""A widget that lives without its kernel: one HTML text with its state, its module and its styles.

The text holds a frame whose document has everything in it, so it works in exported HTML with no network,
and a picture for front ends that strip frames and scripts (an untrusted notebook, GitHub).
"""

import base64
import html
import json
from collections.abc import Mapping
from typing import Any

_SHIM = """
const state = JSON.parse(document.getElementById("state").textContent), acts = {};
const model = {
  get: name => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes() {},
  on: (event, act) => { (acts[event] ??= []).push(act); },
  off() {},
};
const el = document.getElementById("widget");
widget.render({ model, el });
const fit = () => {
  document.documentElement.style.background = getComputedStyle(el.firstElementChild).backgroundColor;
  if (frameElement) frameElement.style.height = `${document.documentElement.offsetHeight + 2}px`;
};
try { new ResizeObserver(fit).observe(document.body); fit(); } catch { /* a frame from elsewhere keeps its height */ }
"""


def document(state: Mapping[str, Any], module: str, css: str, title: str) -> str:
    """A whole HTML document that shows the widget with `state` (JSON-able values of its traits)."""
    body = module.replace("export default", "const widget =", 1).replace("</script", "<\\/script")
    data = json.dumps(state, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>html, body {{ margin: 0; }}\n{css}</style>'
        f'<div id="widget"></div><script type="application/json" id="state">{data}</script>'
        f'<script type="module">{body}\n{_SHIM}</script></html>'
    )


def frame(page: str, picture: bytes, title: str, height: int, live: str = "") -> str:
    """`page` in a frame of `height` pixels, with `picture` (PNG) for where frames are not shown.

    live: the element id of the live widget whose stand-in this is. While that element is on the page this
    is hidden; and once it is not (no kernel), JupyterLab's complaint above this is.
    """
    label = html.escape(title, quote=True)
    hide = ""
    if live:
        mine = f'[data-for="{live}"]'
        hide = (
            f"body:has(#{live}) :is(.cp-still{mine}, .jp-OutputArea-child:has(.cp-still{mine})) "
            "{ display: none; } "
            f".jp-OutputArea-child:has(+ .jp-OutputArea-child .cp-still{mine}):not(:has(#{live})) "
            "{ display: none; } "
        )
    image = base64.b64encode(picture).decode("ascii")
    return (
        f'<div class="cp-still" data-for="{live}">'
        f"<style>{hide}.cp-still > img {{ display: none; }}</style>"
        f'<img alt="{label}" style="max-width: 100%" src="data:image/png;base64,{image}">'
        f'<iframe title="{label}" srcdoc="{html.escape(page, quote=True)}" '
        f'style="width: 100%; height: {height}px; border: 0; display: block"></iframe></div>'
    )
