// SPDX-License-Identifier: Apache-2.0
//
// The report's style: light and dark, and print. It is embedded in the page.
#pragma once

#include <string_view>

namespace cormorant {

// Without the characters that HTML would have escaped.
constexpr std::string_view kReportStyle = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --faint: #66707b; --line: #d8dde3; --wash: #f4f6f8;
  --good: #1a7f37; --bad: #c62828; --note: #9a6700; --bar: #7fb0da; --peak: #c62828;
  --value: #a9cdec; --value-odd: #86b6de; --input: #9ad8ae; --output: #f0c27b; --state: #cdb4e8; --scratch: #dcd7cf;
  --constants: #c3c8ce; --edge: #44586b; --heat: #e8743b; }
@media screen and (prefers-color-scheme: dark) {
:root { --ground: #14181c; --ink: #e3e7eb; --faint: #98a2ad; --line: #343b43; --wash: #1d2329;
  --good: #57c274; --bad: #ff7b72; --note: #e0b341; --bar: #3f79ab; --peak: #ff7b72;
  --value: #2c577d; --value-odd: #3a6d98; --input: #2b6e45; --output: #8a611d; --state: #62478a; --scratch: #524d45;
  --constants: #4a5159; --edge: #b4c4d3; --heat: #c8541c; } }
* { box-sizing: border-box; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
body { margin: 0 auto; padding: 1.5rem; max-width: 92rem; background: var(--ground); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .4rem 0; } nav a { margin-right: 1rem; } a { color: inherit; } .faint { color: var(--faint); }
.verdict { margin: 1rem 0; padding: .5rem 1rem; background: var(--wash); border-left: 4px solid var(--line); list-style: none; }
.good { color: var(--good); } .bad { color: var(--bad); } .note { color: var(--note); }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; align-items: start; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4rem 0; }
.columns table, .wide { width: 100%; }
th, td { padding: .18rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--faint); font-weight: 600; } td.n, th.n { text-align: right; white-space: nowrap; }
td.code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; min-width: 8rem; }
td.whole { white-space: nowrap; } td.text { min-width: 12rem; }
.steps, .nodes { font-size: 12px; } .steps th, .steps td, .nodes th, .nodes td { padding: .18rem .35rem; } .nodes td.code { min-width: 6rem; }
.steps td.rows { padding-left: 1.4rem; } .steps .track { width: 4rem; }
tr.total td { font-weight: 600; } tr.inner td:first-child { padding-left: 1.8rem; } tr.inner td { color: var(--faint); }
tr:target td { background: var(--wash); } tr.float td { color: var(--note); }
td.share { min-width: 8rem; white-space: nowrap; } .bar { display: inline-block; height: .7em; background: var(--bar); }
.track { display: inline-block; width: 5rem; margin-right: .5em; }
.map { width: 100%; height: auto; font: 10px system-ui, sans-serif; fill: var(--ink); }
.map line { stroke: var(--line); } .map text { pointer-events: none; }
.map .left { text-anchor: end; fill: var(--faint); } .map .step { text-anchor: middle; fill: var(--faint); }
.map .name { text-anchor: middle; } .map text.peak { text-anchor: middle; fill: var(--peak); font-weight: 600; }
.map text.right { text-anchor: start; } .map text.left { text-anchor: end; }
.map rect { stroke: var(--edge); stroke-width: .6; vector-effect: non-scaling-stroke; }
.map a:hover rect, .map rect.cover:hover { stroke-width: 2; } .map .part { stroke-dasharray: 3 2; }
.map rect.peak { fill: none; stroke: var(--peak); stroke-width: 1.4; stroke-dasharray: 5 3; pointer-events: none; }
.map .cover { fill: var(--ink); fill-opacity: .16; stroke: none; }
.value { fill: var(--value); background: var(--value); } .value.odd { fill: var(--value-odd); }
.input { fill: var(--input); background: var(--input); } .output { fill: var(--output); background: var(--output); }
.state { fill: var(--state); background: var(--state); } .scratch { fill: var(--scratch); background: var(--scratch); }
.constants { fill: var(--constants); background: var(--constants); }
.swatch { display: inline-block; width: 1em; height: .8em; margin: 0 .4em 0 1.2em; border: 1px solid var(--edge); }
summary { cursor: pointer; color: var(--faint); }
.settings td { overflow-wrap: anywhere; } nav { display: flex; flex-wrap: wrap; gap: .2rem 0; }
.tools { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; }
.tools button, .tools select, .tools input { font: inherit; color: inherit; background: var(--wash); border: 1px solid var(--line);
  border-radius: 4px; padding: .15rem .55rem; min-height: 1.9rem; } .tools input { width: 14rem; max-width: 100%; }
.network { display: grid; grid-template-columns: minmax(0, 1fr) minmax(16rem, 24rem); gap: 1rem; align-items: start; }
#pane { overflow: auto; height: 34rem; border: 1px solid var(--line); background: var(--wash); cursor: grab; }
#pane svg { display: block; margin: 0 auto; } #chosen { min-width: 0; } #chosen td, #chosen th { padding: .12rem .4rem; } #chosen td, #chosen h3 { overflow-wrap: anywhere; }
#chosen th { white-space: nowrap; }
#chosen h3 { margin-top: 0; } input[type=file] { max-width: 100%; }
.box { cursor: pointer; } .box .ground { fill: var(--ground); stroke: var(--edge); stroke-width: 1; }
.box .heat { fill: var(--heat); pointer-events: none; } .box .value { font-size: 10.5px; text-anchor: end; } .box text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.box .sub { font-size: 10.5px; opacity: .75; } .box.input .ground { fill: var(--input); } .box.output .ground { fill: var(--output); }
.box.chosen .ground, .box:focus-visible .ground { stroke: var(--peak); stroke-width: 3; } .box.dim { opacity: .18; } .box:focus { outline: none; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.2; opacity: .55; } th.sorts { cursor: pointer; }
th[aria-sort=ascending]::after { content: ' ↑'; } th[aria-sort=descending]::after { content: ' ↓'; }
@media (max-width: 46rem) {
body { padding: .8rem; } .network { grid-template-columns: minmax(0, 1fr); } #pane { height: 24rem; } th, td { padding: .18rem .35rem; }
table { font-size: 12.5px; } td.share { min-width: 4rem; } .track { width: 2.5rem; }
.columns .track { display: none; } .columns td.share { min-width: 0; } tr.inner td:first-child { padding-left: .9rem; }
td.code { min-width: 3.5rem; } }
@media print {
nav, .tools, #network, #compare, #compare + p { display: none; } body { font-size: 8pt; padding: 0; } .map, tr, h2, h3 { break-inside: avoid; }
h2, h3 { break-after: avoid; } .scroll { overflow: visible; } th, td { padding: .1rem .3rem; }
td.code { min-width: 0; white-space: normal; } td.text { min-width: 7rem; } td.share { min-width: 0; } .track { width: 2rem; } }
)css";

}  // namespace cormorant
