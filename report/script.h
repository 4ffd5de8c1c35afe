// SPDX-License-Identifier: Apache-2.0
//
// The report's interactive part: the network as a graph (zoom, search, colours, a layer's facts), tables that sort, and
// the comparison with another report. The page reads well without it; it makes no network requests.
#pragma once

#include <string_view>

namespace cormorant {

constexpr std::string_view kReportScript = R"js(
'use strict';
(function () {
const facts = JSON.parse(document.getElementById('facts').textContent);
const $ = (id) => document.getElementById(id);
const SVG = 'ht' + 'tp://www.w3.org/2000/svg';  // a name, not an address
const make = (tag, attributes, parent, text) => {
  const e = tag.startsWith('svg:') ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
};
const grouped = (n) => n === null || n === undefined ? '?' : Math.round(n).toLocaleString('en-US');
const measured = facts.steps.some((s) => s.cycles !== undefined);

// ---- the graph: every layer below all that it reads, branches side by side ----
const W = 200, H = 46, GAP_X = 24, GAP_Y = 26;
function layout() {
  const boxes = [];
  facts.inputs.forEach((t, k) => boxes.push({kind: 'input', tensor: t, id: -1 - k, from: [], label: t.name || 'input ' + k, sub: t.type}));
  facts.steps.forEach((s, i) => boxes.push({kind: 'step', step: s, id: i, from: s.from, label: s.op.replace(/^.*::/, ''), sub: s.node}));
  facts.outputs.forEach((t, k) => boxes.push({kind: 'output', tensor: t, id: 'out' + k, from: t.from, label: t.name || 'output ' + k, sub: t.type}));
  const byId = new Map(boxes.map((b) => [b.id, b]));
  // What is computed by rows is listed after all other steps, although one of these reads it.
  const order = [], seen = new Set();
  const visit = (b) => {
    if (seen.has(b)) return;
    seen.add(b);
    for (const f of b.from) if (byId.has(f)) visit(byId.get(f));
    order.push(b);
  };
  boxes.forEach(visit);
  const rows = [];
  for (const b of order) {
    const sources = b.from.map((f) => byId.get(f)).filter((s) => s && s.row !== undefined);
    b.row = sources.reduce((r, s) => Math.max(r, s.row + 1), 0);
    const wanted = sources.length ? sources.reduce((x, s) => x + s.column, 0) / sources.length : 0;
    const taken = rows[b.row] = rows[b.row] || new Set();
    let column = Math.round(wanted);
    for (let d = 0; taken.has(column); d += 1) column = Math.round(wanted) + (d % 2 ? -1 : 1) * Math.ceil((d + 1) / 2);
    b.column = column;
    taken.add(column);
  }
  const left = Math.min(...boxes.map((b) => b.column));
  for (const b of boxes) { b.x = (b.column - left) * (W + GAP_X) + 10; b.y = b.row * (H + GAP_Y) + 10; }
  return {boxes, byId, width: Math.max(...boxes.map((b) => b.x)) + W + 10, height: Math.max(...boxes.map((b) => b.y)) + H + 10};
}
const graph = layout();
const pane = $('pane');
const svg = make('svg:svg', {viewBox: '0 0 ' + graph.width + ' ' + graph.height, role: 'group', 'aria-label': 'The network'}, pane);
for (const b of graph.boxes) {
  for (const f of b.from) {
    const s = graph.byId.get(f);
    if (!s) continue;
    const x1 = s.x + W / 2, y1 = s.y + H, x2 = b.x + W / 2, y2 = b.y, far = b.row - s.row > 1 && s.column === b.column;
    const bend = far ? W * 0.62 : 0, mid = (y2 - y1) / 2;
    make('svg:path', {class: 'edge', d: far
      ? `M${x1 + 40},${y1} C${x1 + bend + 30},${y1 + 30} ${x2 + bend + 30},${y2 - 30} ${x2 + 40},${y2}`
      : `M${x1},${y1} C${x1},${y1 + mid} ${x2},${y2 - mid} ${x2},${y2}`}, svg);
  }
}
const short = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;
for (const b of graph.boxes) {
  b.element = make('svg:g', {class: 'box ' + b.kind, tabindex: '0', role: 'button', transform: `translate(${b.x},${b.y})`,
    'data-id': b.id, 'aria-label': b.label + ' ' + b.sub}, svg);
  make('svg:rect', {class: 'ground', width: W, height: H, rx: 6}, b.element);
  b.heat = make('svg:rect', {class: 'heat', width: W, height: H, rx: 6}, b.element);
  make('svg:text', {x: 8, y: 19, class: 'label'}, b.element, short(b.label, 29));
  make('svg:text', {x: 8, y: 36, class: 'sub'}, b.element, short(b.sub, 22));
  b.value = make('svg:text', {x: W - 8, y: 36, class: 'value'}, b.element, '');
  make('svg:title', {}, b.element, b.label + '\n' + b.sub);
  b.element.addEventListener('click', () => choose(b));
  b.element.addEventListener('keydown', (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); choose(b); } });
}

// ---- zoom ----
let zoom = 1;
function setZoom(z, keep) {
  const x = (pane.scrollLeft + pane.clientWidth / 2) / zoom, y = (pane.scrollTop + pane.clientHeight / 2) / zoom;
  zoom = Math.min(4, Math.max(0.05, z));
  svg.setAttribute('width', graph.width * zoom);
  svg.setAttribute('height', graph.height * zoom);
  if (keep) { pane.scrollLeft = x * zoom - pane.clientWidth / 2; pane.scrollTop = y * zoom - pane.clientHeight / 2; }
  $('zoom').textContent = Math.round(zoom * 100) + ' %';
}
const fitWidth = () => setZoom(Math.min(1, (pane.clientWidth - 4) / graph.width));
const fitAll = () => setZoom(Math.min(1, (pane.clientWidth - 4) / graph.width, (pane.clientHeight - 4) / graph.height));
$('zoom-in').addEventListener('click', () => setZoom(zoom * 1.25, true));
$('zoom-out').addEventListener('click', () => setZoom(zoom / 1.25, true));
$('zoom-fit').addEventListener('click', fitAll);
pane.addEventListener('wheel', (e) => {
  if (!e.ctrlKey) return;
  e.preventDefault();
  setZoom(zoom * (e.deltaY > 0 ? 1 / 1.15 : 1.15), true);
}, {passive: false});
let held = null;
pane.addEventListener('pointerdown', (e) => { if (e.pointerType === 'mouse') held = {x: e.clientX, y: e.clientY, l: pane.scrollLeft, t: pane.scrollTop}; });
window.addEventListener('pointermove', (e) => {
  if (!held) return;
  pane.scrollLeft = held.l - (e.clientX - held.x);
  pane.scrollTop = held.t - (e.clientY - held.y);
});
window.addEventListener('pointerup', () => { held = null; });

// ---- colours ----
const share = (v, all) => all ? (100 * v / all).toFixed(1) + ' %' : '';
const kilo = (v) => v ? (v / 1024).toFixed(v < 10240 ? 1 : 0) + ' K' : '';
const totalTime = measured ? facts.totals.cycles : facts.totals.macs;
const metrics = {
  time: {of: (s) => measured ? s.cycles : s.macs, show: (v) => share(v, totalTime), text: measured ? 'share of the estimated cycles' : 'share of the MACs'},
  memory: {of: (s) => s.alive, show: kilo, text: 'bytes of the arena that are alive'},
  constants: {of: (s) => s.constants, show: kilo, text: 'bytes of constants'},
  error: {of: (s) => typeof s.db === 'number' ? Math.max(0, 60 - s.db) : null, most: 40, show: (v) => (60 - v).toFixed(0) + ' dB', text: 'SQNR: full colour at 20 dB, none at 60 dB'},
};
function colour() {
  const metric = metrics[$('colour').value];
  const known = (v) => v !== null && v !== undefined;
  const most = metric.most || Math.max(1e-9, ...facts.steps.map(metric.of).filter(known));
  for (const b of graph.boxes) {
    const v = b.kind === 'step' ? metric.of(b.step) : null;
    b.heat.setAttribute('fill-opacity', known(v) ? (0.85 * Math.min(1, v / most)).toFixed(3) : 0);
    b.value.textContent = known(v) ? metric.show(v) : '';
  }
  $('scale').textContent = metric.text;
}
$('colour').addEventListener('change', colour);

// ---- a layer's facts ----
function row(table, name, value) {
  if (value === undefined || value === null || value === '') return;
  const r = make('tr', {}, table);
  make('th', {}, r, name);
  make('td', {}, r, String(value));
}
function choose(b) {
  for (const other of graph.boxes) other.element.classList.toggle('chosen', other === b);
  const box = $('chosen');
  box.textContent = '';
  make('h3', {}, box, b.label);
  const table = make('table', {}, box);
  if (b.kind !== 'step') {
    const t = b.tensor;
    row(table, b.kind, t.name);
    row(table, 'type', t.type);
    row(table, 'bytes', grouped(t.bytes));
    if (t.scale) row(table, 'real value', t.scale + ' · (integer ' + (t.zero_point < 0 ? '+ ' : '− ') + Math.abs(t.zero_point) + ')');
    return;
  }
  const s = b.step;
  row(table, 'step', s.time + (s.rows ? ', by rows' : ''));
  row(table, 'operator', s.op);
  row(table, 'node', s.node);
  row(table, 'source', s.source);
  row(table, 'output', s.result);
  row(table, 'MACs', s.macs ? grouped(s.macs) : '');
  row(table, 'instructions', s.instructions === undefined ? '' : grouped(s.instructions));
  row(table, 'cycles', s.cycles === undefined ? '' : grouped(s.cycles) + ' (' + (100 * s.cycles / Math.max(1, facts.totals.cycles)).toFixed(1) + ' %)');
  row(table, 'constants', s.constants ? grouped(s.constants) + ' bytes' : '');
  row(table, 'scratch', s.scratch ? grouped(s.scratch) + ' bytes' : '');
  row(table, 'alive', grouped(s.alive) + ' bytes of the arena');
  row(table, 'SQNR', s.db === undefined ? '' : s.db === null ? 'exact' : s.db.toFixed(1) + ' dB');
  row(table, 'bits', s.precision);
  row(table, 'rule', s.rule);
  row(table, 'range seen', s.range ? s.range[0].toPrecision(4) + ' … ' + s.range[1].toPrecision(4) : '');
  row(table, 'scale', s.scale);
  row(table, 'zero point', s.zero_point);
  row(table, 'weights', s.weights);
  make('a', {href: '#step-' + s.time}, box, 'in the table');
}

// ---- search ----
let hits = [], at = -1;
function show(b) {
  pane.scrollTop = (b.y + H / 2) * zoom - pane.clientHeight / 2;
  pane.scrollLeft = (b.x + W / 2) * zoom - pane.clientWidth / 2;
  choose(b);
}
function search() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (text) => words.every((w) => text.toLowerCase().includes(w));
  hits = [];
  at = -1;
  for (const b of graph.boxes) {
    const s = b.step || {};
    const hit = matches([b.label, b.sub, s.op, s.source, s.result].join(' '));
    b.element.classList.toggle('dim', words.length !== 0 && !hit);
    if (words.length !== 0 && hit) hits.push(b);
  }
  for (const r of document.querySelectorAll('.steps tr[id]')) r.hidden = words.length !== 0 && !matches(r.textContent);
  $('hits').textContent = words.length === 0 ? '' : hits.length + ' of ' + graph.boxes.length;
}
$('search').addEventListener('input', search);
$('search').addEventListener('keydown', (e) => {
  if (e.key !== 'Enter' || hits.length === 0) return;
  at = (at + 1) % hits.length;
  show(hits[at]);
});

// ---- tables that sort ----
const key = (cell) => {
  const text = cell ? cell.textContent.trim() : '';
  const number = parseFloat(text.replace(/[,% ]/g, ''));
  return cell && (cell.classList.contains('n') || cell.classList.contains('share')) ? (Number.isNaN(number) ? -Infinity : number) : text;
};
for (const table of document.querySelectorAll('table.wide')) {
  const head = table.querySelector('tr');
  [...head.children].forEach((th, column) => {
    th.setAttribute('tabindex', '0');
    th.classList.add('sorts');
    const sort = () => {
      const down = th.getAttribute('aria-sort') === 'ascending';
      for (const other of head.children) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const rows = [...table.querySelectorAll('tr')].filter((r) => r !== head && !r.classList.contains('total'));
      const total = table.querySelector('tr.total');
      rows.sort((a, b) => {
        const x = key(a.children[column]), y = key(b.children[column]);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      for (const r of rows) head.parentNode.insertBefore(r, total);
    };
    th.addEventListener('click', sort);
    th.addEventListener('keydown', (e) => { if (e.key === 'Enter') sort(); });
  });
}

// ---- comparison with another report ----
function difference(a, b) {
  if (a === undefined || b === undefined || a === null || b === null) return '';
  const d = b - a;
  return d === 0 ? 'same' : (d > 0 ? '+' : '−') + grouped(Math.abs(d)) + (a ? ' (' + (d > 0 ? '+' : '−') + Math.abs(100 * d / a).toFixed(1) + ' %)' : '');
}
function compare(other) {
  const box = $('comparison');
  box.textContent = '';
  make('p', {}, box, 'This report, then ' + other.model + ' on ' + other.target + ':');
  const wrap = make('div', {class: 'scroll'}, box);
  const table = make('table', {}, wrap);
  const line = (cells, tag) => { const r = make('tr', {}, table); cells.forEach((c, i) => make(tag || 'td', i ? {class: 'n'} : {}, r, c)); };
  line(['', 'this', 'other', 'difference'], 'th');
  for (const [name, title] of [['flash', 'flash'], ['ram', 'RAM'], ['arena', 'arena'], ['macs', 'MACs'], ['cycles', 'cycles'], ['steps', 'steps']]) {
    const a = facts.totals[name], b = other.totals[name];
    if (a === undefined && b === undefined) continue;
    line([title, grouped(a), grouped(b), difference(a, b)]);
  }
  const then = new Map(other.steps.map((s) => [s.node, s]));
  const cost = (s) => s.cycles !== undefined ? s.cycles : s.macs;
  let differing = 0;
  for (const s of facts.steps) {
    const o = then.get(s.node);
    if (o && o.op === s.op && cost(o) === cost(s) && o.constants === s.constants) continue;
    differing += 1;
    if (differing > 200) continue;
    line([s.node + ': ' + s.op + (o ? (o.op === s.op ? '' : ' → ' + o.op) : ' (only here)'), grouped(cost(s)), o ? grouped(cost(o)) : '', o ? difference(cost(s), cost(o)) : '']);
  }
  make('p', {class: 'faint'}, box, differing === 0 ? 'Every layer is the same.' : differing + ' layers differ (' + (measured ? 'cycles' : 'MACs') + ').');
}
$('other').addEventListener('change', async (e) => {
  const file = e.target.files[0];
  if (!file) return;
  const page = new DOMParser().parseFromString(await file.text(), 'text/html').getElementById('facts');
  if (!page) { $('comparison').textContent = file.name + ' is not a cormorant report.'; return; }
  compare(JSON.parse(page.textContent));
});
window.cormorantReport = {graph, compare, choose, setZoom};

$('network').hidden = false;
colour();
fitWidth();
const steps = graph.boxes.filter((b) => b.kind === 'step');
if (steps.length) choose(steps.reduce((most, b) => metrics.time.of(b.step) > metrics.time.of(most.step) ? b : most));
}());
)js";

}  // namespace cormorant
