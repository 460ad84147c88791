//===- Style.h - The report's style sheet ---------------------------------===//
#pragma once

namespace betz::train {

inline constexpr const char *kReportStyle = R"css(
:root{color-scheme:light dark;--paper:#fffff8;--ink:#1c1b19;--soft:#6b675f;
--faint:#e4e1d6;--measured:#a9a598;--accent:#b03a12;--other:#3d4f63}
@media (prefers-color-scheme:dark){:root{--paper:#171613;--ink:#ece8dd;
--soft:#a39d8f;--faint:#35322b;--measured:#7d786c;--accent:#ff8b5c;
--other:#a9bfd8}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 "Iowan Old Style","Palatino Linotype",Palatino,"Book Antiqua",
Georgia,"DejaVu Serif",serif;overflow-wrap:anywhere}
main{max-width:1120px;margin:0 auto;padding:28px 16px 64px}
h1{font-size:1.7rem;font-weight:400;line-height:1.2;margin:0 0 2px}
h2{font-size:1.25rem;font-weight:400;font-style:italic;margin:44px 0 6px}
p{margin:0 0 10px;max-width:66ch}
.under{color:var(--soft)}
.lead{display:flex;flex-wrap:wrap;gap:8px 36px;margin:22px 0 8px}
.lead div{min-width:0}
.big{font-size:2.6rem;line-height:1.1;font-variant-numeric:lining-nums tabular-nums;
display:block}
.big.judged{color:var(--accent)}
.lead small{color:var(--soft);font-size:.85rem}
ul.notes{margin:6px 0 0;padding:0;list-style:none;max-width:72ch}
ul.notes li{padding:5px 0 5px 14px;border-left:2px solid var(--faint);
margin:0 0 6px}
.grid{display:grid;gap:22px 28px;
grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr))}
.grid.small{gap:14px 16px;
grid-template-columns:repeat(auto-fill,minmax(min(46%,165px),1fr))}
figure{margin:0;min-width:0}
figure svg{display:block;width:100%;height:auto;max-width:460px}
figcaption{font-size:.85rem;line-height:1.4;color:var(--soft);margin-top:4px}
figcaption b{color:var(--ink);font-weight:600}
table{border-collapse:collapse;font-variant-numeric:lining-nums tabular-nums;
width:100%;max-width:760px;font-size:.95rem}
th{font-weight:400;font-style:italic;color:var(--soft);text-align:right;
padding:2px 0 4px 10px;border-bottom:1px solid var(--soft);
overflow-wrap:normal}
td{text-align:right;padding:3px 0 3px 10px;vertical-align:top;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal}
tr.judged td{color:var(--accent)}
tr.control td{color:var(--soft)}
tr.first td{border-top:1px solid var(--faint)}
td .between{color:var(--soft);font-size:.85em;margin-left:8px}
dl{display:grid;grid-template-columns:minmax(90px,max-content) 1fr;gap:3px 18px;
margin:0;font-size:.95rem}
dt{color:var(--soft);font-style:italic}dd{margin:0;min-width:0}
@media (min-width:900px){ul.notes{columns:2;column-gap:36px;max-width:none}
ul.notes li{break-inside:avoid}}
@media (max-width:600px){main{padding:18px 14px 48px}
h1{font-size:1.4rem}.big{font-size:2.1rem}
.lead{display:grid;grid-template-columns:1fr 1fr;gap:12px 16px}
.lead small{display:block;line-height:1.3}
table{font-size:.8rem}th,td{padding-left:6px}
td .between{display:block;margin:0}}
svg text{font:11px "Helvetica Neue",Helvetica,Arial,"DejaVu Sans",sans-serif;
fill:var(--ink);font-variant-numeric:tabular-nums}
svg .tick{fill:var(--soft);font-size:10.5px}
svg .axis{stroke:var(--soft);stroke-width:.8}
svg .grid{stroke:var(--faint);stroke-width:.8}
svg .zero{stroke:var(--soft);stroke-width:.8}
svg path{fill:none;stroke-linejoin:round;stroke-linecap:round}
svg .measured{stroke:var(--measured);stroke-width:2.6}
svg .decoded{stroke:var(--accent);stroke-width:1.3}
svg .measured-text{fill:var(--soft);font-weight:600}
svg .decoded-text{fill:var(--accent);font-weight:600}
svg .start{fill:var(--ink)}
svg .curve{stroke-width:1.6}
svg .curve.judged{stroke:var(--accent)}svg .curve.other{stroke:var(--other)}
svg .curve.control{stroke:var(--measured);stroke-dasharray:3 3}
svg .mark.judged{fill:var(--accent)}svg .mark.other{fill:var(--other)}
svg .mark.control{fill:var(--measured)}
svg .mark.draw{fill:none;stroke:var(--accent);stroke-opacity:.65}
svg .whisker{stroke-width:1.6}svg .whisker.judged{stroke:var(--accent)}
svg .whisker.other{stroke:var(--other)}
svg .whisker.control{stroke:var(--measured)}
svg text.judged{fill:var(--accent)}svg text.control{fill:var(--soft)}
)css";

} // namespace betz::train
