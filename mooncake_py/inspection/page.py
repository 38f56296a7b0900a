"""One self-contained page: the source, both graphs side by side, every stage, what is kept."""

from __future__ import annotations

import html
import json
import linecache
from typing import TYPE_CHECKING

from mooncake_py.inspection.cfg import graph_of, key_of, svg
from mooncake_py.inspection.describe import type_text
from mooncake_py.inspection.stages import STAGES, ir_of, stage_text
from mooncake_py.ir.text import block_lines

if TYPE_CHECKING:
    from mooncake_py.inspection.inspect import Inspection


def page(seen: Inspection) -> str:
    """The page as text."""
    title = html.escape(f"{seen.function.__qualname__}: {', '.join(f'{n}: {type_text(t)}' for n, t in seen.arguments)}")
    tabs = "".join(
        f'<button class="tab" data-tab="{i}">{s}</button>' for i, s in enumerate(STAGES)
    )  # the text of a stage stands in its panel
    panels = "".join(
        f'<pre class="panel" data-tab="{i}">{html.escape(stage_text(seen, s))}</pre>' for i, s in enumerate(STAGES)
    )
    return _PAGE.format(
        title=title,
        style=_STYLE,
        source=_source(seen),
        forward=svg(graph_of(seen.derived.forward), "forward"),
        pullback=svg(graph_of(seen.derived.pullback), "pullback"),
        kept=_kept(seen),
        tabs=tabs,
        panels=panels,
        fragments=json.dumps(fragments(seen)).replace("</", "<\\/"),
        script=_SCRIPT,
    )


def notebook(seen: Inspection) -> str:
    """The page in a frame of its own: its style stays out of the notebook's."""
    return f'<iframe style="width:100%;height:640px;border:1px solid #ccc" srcdoc="{html.escape(page(seen))}"></iframe>'


def picture(seen: Inspection) -> str:
    """Both graphs in one picture."""
    graphs = [(graph_of(seen.derived.forward), "forward"), (graph_of(seen.derived.pullback), "pullback")]
    width, height = sum(g.width for g, _ in graphs) + 20, max(g.height for g, _ in graphs) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">']
    x = 0.0
    for g, name in graphs:
        out.append(f'<text x="{x + 8:.0f}" y="14" font-family="sans-serif" font-size="13">{name}</text>')
        out.append(f'<g transform="translate({x:.0f},20)">{svg(g, name)}</g>')
        x += g.width + 20
    return "".join([*out, "</svg>"])


def fragments(seen: Inspection) -> dict[str, dict[str, list[str]]]:
    """By place in the source: the statements that every stage has for it."""
    out: dict[str, dict[str, list[str]]] = {}
    for stage in ("inferred", "forward", "pullback"):
        for b in ir_of(seen, stage).blocks:
            for text, item in block_lines(b, []):
                key = key_of(getattr(item, "pos", None))
                if key:
                    out.setdefault(key, {}).setdefault(stage, []).append(text.strip())
    return out


def _source(seen: Inspection) -> str:
    code = seen.function.__code__
    lines = sorted({*seen.lines, *(n for _, _, n in code.co_lines() if n)})
    rows = []
    for n in range(lines[0], lines[-1] + 1):
        text = html.escape(linecache.getline(code.co_filename, n).rstrip()) or " "
        found = "\n".join(dict.fromkeys(f.text for f in seen.lines.get(n, ())))
        rows.append(
            f'<div class="line" data-line="{n}" title="{html.escape(found)}"><span class="no">{n}</span>{text}</div>'
        )
    return "".join(rows)


def _kept(seen: Inspection) -> str:
    rows = []
    for k, size, count in seen.sizes() if seen.measured else [(k, None, None) for k in seen.derived.kept]:
        what = html.escape((f"{k.part} of " if k.part else "") + (k.what or "a value"))
        amount = "" if size is None else f"{size} bytes" + (f" in {count} entries" if count else "")
        rows.append(
            f'<tr data-k="{key_of(k.pos)}"><td>{what}</td><td>{html.escape(type_text(k.type))}</td><td>{k.how}</td>'
            f"<td>{k.pos.line or ''}</td><td>{amount}</td></tr>"
        )
    if not rows:
        return "<p>nothing is kept</p>"
    head = "<tr><th>what</th><th>type</th><th>how</th><th>line</th><th>size</th></tr>"
    return f'<table class="kept">{head}{"".join(rows)}</table>'


_STYLE = """
body { font: 14px sans-serif; margin: 12px; color: #223; background: #f6f6f9 }
h1 { font-size: 16px } h2 { font-size: 13px; margin: 6px 0; color: #556 }
.row { display: flex; gap: 12px; align-items: flex-start }
.pane { background: #fff; border: 1px solid #dde; border-radius: 6px; padding: 8px; overflow: auto; max-height: 70vh }
.code { font: 12px monospace; white-space: pre }
.line { padding: 1px 4px } .no { color: #99a; display: inline-block; width: 3.5em }
.line.on, .panel .on, tr.on { background: #fff3c4 }
.stmt { cursor: default } .stmt.on { fill: #c30; font-weight: bold }
.tab { border: 1px solid #ccd; background: #fff; padding: 3px 8px; cursor: pointer }
.tab.on { background: #dde6ff } .panel { display: none; font-size: 12px; overflow: auto } .panel.on { display: block }
.kept td, .kept th { text-align: left; padding: 2px 10px; font-size: 12px }
#fragments { position: fixed; right: 12px; bottom: 12px; max-width: 46vw; background: #223; color: #eef;
  padding: 8px 12px; border-radius: 6px; font: 12px monospace; white-space: pre-wrap; display: none }
#fragments.on { display: block }
"""

_SCRIPT = """
const all = [...document.querySelectorAll('[data-k]')].filter(e => e.dataset.k);
const lines = [...document.querySelectorAll('.line')];
const box = document.getElementById('fragments');
function clear() {
  document.querySelectorAll('.stmt.on,.line.on,tr.on').forEach(e => e.classList.remove('on'));
  box.classList.remove('on');
}
function show(keys, line) {
  clear();
  const text = [];
  for (const e of all) if (keys.has(e.dataset.k)) e.classList.add('on');
  for (const e of lines) if (e.dataset.line === String(line)) e.classList.add('on');
  for (const k of keys) for (const [stage, found] of Object.entries(FRAGMENTS[k] || {}))
    text.push(stage + ':', ...found.map(s => '  ' + s));
  if (text.length) { box.textContent = text.join('\\n'); box.classList.add('on'); }
}
for (const e of all) {
  e.addEventListener('mouseenter', () => show(new Set([e.dataset.k]), e.dataset.k.split(':')[0]));
  e.addEventListener('mouseleave', clear);
}
for (const e of lines) {
  e.addEventListener('mouseenter', () => {
    const keys = new Set(Object.keys(FRAGMENTS).filter(k => k.split(':')[0] === e.dataset.line));
    show(keys, e.dataset.line);
  });
  e.addEventListener('mouseleave', clear);
}
function open_tab(i) {
  document.querySelectorAll('.tab,.panel').forEach(e => e.classList.toggle('on', e.dataset.tab === i));
}
document.querySelectorAll('.tab').forEach(e => e.addEventListener('click', () => open_tab(e.dataset.tab)));
open_tab('3');
document.body.dataset.ready = all.length;
"""

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{style}</style></head><body>
<h1>{title}</h1>
<div class="row">
<div class="pane"><h2>source</h2><div class="code">{source}</div></div>
<div class="pane"><h2>forward</h2>{forward}</div>
<div class="pane"><h2>pullback</h2>{pullback}</div>
</div>
<h2>kept for the reverse run</h2>{kept}
<h2>stages</h2><div>{tabs}</div>{panels}
<div id="fragments"></div>
<script>const FRAGMENTS = {fragments};{script}</script>
</body></html>
"""
