import { paletteStyle } from './palette.js';

/** The style sheet of every page. Colours are named by what they mean; the dark page changes their values only. */
export function pageStyle(): string {
  return `${base}\n${charts}\n${log}\n${paletteStyle()}`;
}

const base = `
:root{color-scheme:light dark;--page:#f6f6f4;--card:#fff;--text:#1b1d21;--muted:#5b626c;--rule:#e2e3e1;--grid:#ecedeb;--accent:#1f55c4;--good:#0b7556;--good-soft:#dff3ec;--bad:#b3261e;--bad-soft:#fbe6e3;--warn:#8a5300;--warn-soft:#fbeed6;--point:#6d7683;--spread:#b9c0ca;--range:#dde1e6;--shade:#f3f3f0;--mark:#fdf1c4}
@media (prefers-color-scheme:dark){:root{--page:#121316;--card:#1a1c20;--text:#e9eaed;--muted:#a3aab4;--rule:#2e3238;--grid:#262a2f;--accent:#86b0ff;--good:#4fd0a4;--good-soft:#12352a;--bad:#ff8f84;--bad-soft:#421c19;--warn:#f2b75c;--warn-soft:#3a2a10;--point:#99a3b1;--spread:#4d5662;--range:#363c44;--shade:#212429;--mark:#4a3d10}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:1120px;padding:28px 24px 64px;background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
h1{margin:2px 0 6px;font-size:28px;line-height:1.2;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
h1 .by{color:var(--muted);font-weight:400}
h2{margin:0 0 14px;font-size:18px;font-weight:650}
h4{margin:0 0 6px;font-size:14px}
h5{margin:14px 0 4px;font-size:13px;font-weight:600;color:var(--muted)}
p{margin:0 0 10px}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:2px}
.muted,.empty{color:var(--muted);font-weight:400}
.kicker{margin:0;color:var(--muted);font-size:14px;overflow-wrap:anywhere}
.state{margin-bottom:12px;color:var(--muted);overflow-wrap:anywhere}
.status{display:inline-block;padding:1px 9px;border-radius:99px;font-size:13px;font-weight:600;background:var(--warn-soft);color:var(--warn)}
.status.completed{background:var(--good-soft);color:var(--good)}
.status.failed{background:var(--bad-soft);color:var(--bad)}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:18px 0;padding:10px 0;border:solid var(--rule);border-width:1px 0;font-size:14px}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
section{margin:0 0 16px;padding:20px 22px 22px;background:var(--card);border:1px solid var(--rule);border-radius:10px;scroll-margin-top:12px;min-width:0}
footer{color:var(--muted);font-size:13px}
.facts{display:flex;flex-wrap:wrap;gap:4px 20px;margin:0;font-size:13px}
.facts div{display:flex;gap:6px}
.facts dt{color:var(--muted)}
.facts dd{margin:0;overflow-wrap:anywhere}
.headline{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:18px 22px;margin:0}
.headline.main{grid-template-columns:repeat(auto-fit,minmax(260px,1fr));margin-bottom:18px;padding-bottom:18px;border-bottom:1px solid var(--rule)}
.tile dt{font-size:13px;color:var(--muted)}
.tile dd{margin:0}
.tile .value{font-size:24px;line-height:1.25;font-weight:620;letter-spacing:-.01em}
.main .value{font-size:40px;line-height:1.15}
.confirmed .value{color:var(--good)}
.tile .note{font-size:13px;line-height:1.4;color:var(--muted)}
.tile .note b{color:var(--text);font-weight:600}
.warnings{margin:0;padding-left:20px;overflow-wrap:anywhere}
.note{margin:8px 0 0;color:var(--muted);font-size:13px}
.scroll{overflow:auto;max-width:100%}
.scroll.tall{max-height:560px}
table{border-collapse:collapse;font-size:14px}
th,td{padding:5px 10px;text-align:left;vertical-align:top}
th{font-weight:500}
thead th{color:var(--muted);font-size:13px;white-space:nowrap}
tbody tr{border-top:1px solid var(--rule)}
.number{text-align:right;white-space:nowrap}
.weights td,.weights thead th+th{text-align:right;min-width:64px}
tbody th{white-space:nowrap}
.weights .bias{border-top:2px solid var(--rule)}
.states,.grid-world{border-spacing:2px;border-collapse:separate}
.states td,.states th{padding:2px 6px;text-align:center;font-size:13px;white-space:nowrap}
.states tbody th{color:var(--muted);text-align:right}
.states td{border-radius:3px;min-width:26px}
.grid-world td{width:52px;height:52px;padding:0;text-align:center;vertical-align:middle;font-size:22px;line-height:1.1;border-radius:4px}
.grid-world small,.grid-world .place{font-size:12px;line-height:1.2;color:var(--muted)}
.grid-world small{display:block;color:inherit}
.grid-world .hole,.grid-world .cliff{background:var(--bad-soft);color:var(--bad)}
.grid-world .goal{background:var(--good-soft);color:var(--good);font-weight:600}
.side-by-side{display:flex;flex-wrap:wrap;gap:20px 40px;align-items:flex-start;margin-bottom:10px}
.side-by-side>*{min-width:0}
.side-by-side .note{width:0;min-width:100%}
.failures{width:100%}
.confirmations .final{font-weight:650}
.confirmations .final th{font-weight:650}
.failures td:last-child{min-width:260px;overflow-wrap:anywhere}
.bar-cell{width:22%;min-width:90px}
.bar-cell svg{margin-top:5px}
.limits{margin-top:16px}.limits .used{fill:var(--accent)}.limits .room{fill:var(--grid)}
.bar{fill:var(--bad);fill-opacity:.75}
pre{margin:0;padding:10px 12px;max-height:480px;overflow:auto;background:var(--shade);border-radius:6px;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
pre+p,.facts+.scroll{margin-top:12px}
code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
summary{cursor:pointer}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:640px){th,td{padding:5px 6px}.weights td,.weights thead th+th{min-width:48px}body{padding:18px 12px 48px;font-size:15px}section{padding:16px 14px 18px;border-radius:8px}h1{font-size:22px}.headline{grid-template-columns:1fr 1fr;gap:14px 16px}.headline.main{grid-template-columns:1fr}.tile .value{font-size:22px}.main .value{font-size:34px}.grid-world td{width:34px;height:34px;font-size:17px}.grid-world small,.grid-world .place{font-size:9px}}
@media (max-width:640px){.failures,.failures tbody{display:block}.failures thead{display:none}.failures tr{display:grid;grid-template-columns:minmax(0,1fr) auto 40%;padding:4px 0}.failures th,.failures td{padding:2px 4px}.failures td.mended{display:none}.failures td:last-child{grid-column:1/-1;min-width:0}}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}`;

const charts = `
figure{margin:0;min-width:0}
figcaption{margin-top:6px;font-size:13px;color:var(--muted)}
.readout{margin:6px 0 0;min-height:1.5em;font-size:13px;color:var(--muted);overflow-wrap:anywhere}
.plot{display:grid;grid-template-columns:52px minmax(0,1fr);row-gap:6px}
.plot svg{display:block;overflow:visible}
.y-title,.x-title{margin:0;font-size:12px;color:var(--muted)}
.y-title{grid-column:1/-1}
.x-title{grid-column:2;text-align:center}
.plot text,.heat-map text{font-size:12px;fill:var(--muted)}
.y-axis text,.row-names text{text-anchor:end}
.x-axis text{text-anchor:middle}
.grid line{stroke:var(--grid)}
.paths path{fill:none;vector-effect:non-scaling-stroke}
.warmup{fill:var(--shade)}
.range{stroke:var(--range);stroke-width:1}
.quartiles{stroke:var(--spread);stroke-width:3;stroke-opacity:.75}
.paths .best{stroke:var(--accent);stroke-width:2}
.paths .band{fill:var(--accent);fill-opacity:.16}
.paths .repeat{stroke:var(--point);stroke-opacity:.55;stroke-width:1}
.swatch.band{background:var(--accent);opacity:.25}
.key.thin{border-top:1px solid var(--point)}
.points circle{fill:var(--point)}
.points .improved{fill:var(--accent)}
.dense .quartiles{stroke-width:1.5}
.dense .points circle{r:1.8px}
.dense .points .improved{r:2.8px}
.points use{fill:var(--point)}
.rejected use{stroke:var(--bad);stroke-width:1.6}
.confirmed line{stroke:var(--good);stroke-width:2}
.confirmed use{fill:var(--good);stroke:var(--card);stroke-width:1.5}
.confirmed-band{fill:var(--good);fill-opacity:.16}
.target line{stroke:var(--warn);stroke-width:1.5;stroke-dasharray:5 4}
.columns rect{fill:var(--text);fill-opacity:0}
.columns rect:hover{fill-opacity:.07}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0;padding:0;list-style:none;font-size:13px;color:var(--muted)}
.legend li{display:flex;align-items:center;gap:6px}
.key{display:inline-block;flex:none;width:16px;height:0}
.key.dot{width:7px;height:7px;border-radius:9px;background:var(--point)}
.key.step{border-top:2px solid var(--accent)}
.key.dash{border-top:2px dashed var(--warn)}
.key.diamond{width:9px;height:9px;background:var(--good);transform:rotate(45deg)}
.key.cross{width:auto;height:auto;color:var(--bad)}
.key.cross::before{content:"×";font-weight:700}
.key.below{border:5px solid transparent;border-bottom:0;border-top:6px solid var(--point);width:0}
.arm-0{--arm:var(--point)}.arm-1{--arm:var(--accent)}.arm-2{--arm:#c2571f}.arm-3{--arm:#8a63d2}.arm-4{--arm:#1c8f6f}.arm-5{--arm:#c23d86}.arm-6{--arm:#97810f}.arm-7{--arm:#1f8fb5}
.paths .arm-line{stroke:var(--arm);stroke-width:2}
.paths .arm-band{fill:var(--arm);fill-opacity:.15}
.arm-mark line{stroke:var(--arm);stroke-width:2}
.arm-mark circle{fill:var(--arm);stroke:var(--card);stroke-width:1.5}
.key.arm{border-top:3px solid var(--arm)}
.verdict{margin-bottom:14px;padding:12px 16px;border-left:4px solid var(--muted);background:var(--shade);font-size:19px;line-height:1.4}
.verdict.higher{border-color:var(--good)}.verdict.lower{border-color:var(--bad)}.verdict.too-few{border-color:var(--warn)}
.key.outline{width:7px;height:13px;border:1.5px solid var(--text)}
.key.boundary{width:0;height:13px;border-left:1.5px dashed var(--muted)}
.swatch{display:inline-block;width:11px;height:11px;border-radius:2px}
.heat-map{display:grid;grid-template-columns:210px minmax(0,1fr);column-gap:8px}
.heat-map.short-names{grid-template-columns:76px minmax(0,1fr)}
.heat-map svg{display:block}
.heat-map .area{overflow:visible}
.heat-map image{image-rendering:pixelated}
.row-names .narrow{display:none}
.frame,.best-column,.pointer{fill:none;stroke:var(--rule)}
.best-column{stroke:var(--text);stroke-width:1.5}
.pointer{stroke:var(--text);stroke-width:2}
.boundary{stroke:var(--muted);stroke-width:1.5;stroke-dasharray:4 3}
.heat-map .target{fill:transparent;touch-action:pan-y}
.animations{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(270px,100%),1fr));gap:18px 22px}
.animations img{display:block;width:100%;max-width:480px;height:auto;border:1px solid var(--rule);border-radius:6px}
.warn-text{color:var(--warn)}
.gradient rect{stroke:var(--rule)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(400px,100%),1fr));gap:24px 32px}
.tokens-cached{fill:#9db8e8;background:#9db8e8}.tokens-fresh{fill:#3d6fd1;background:#3d6fd1}.tokens-reasoning{fill:#e0a24a;background:#e0a24a}.tokens-answer{fill:#c2571f;background:#c2571f}
.paths .tokens-cached{fill:#9db8e8}.paths .tokens-fresh{fill:#3d6fd1}.paths .tokens-reasoning{fill:#e0a24a}.paths .tokens-answer{fill:#c2571f}
.paths .latency{fill:var(--point)}
.paths .cost{stroke:var(--accent);stroke-width:2}
.paths .cost-area{fill:var(--accent);fill-opacity:.12}
.paths .validation{stroke:var(--warn);stroke-width:2}
.validations circle{fill:var(--warn);stroke:var(--card)}
.key.validation{border-top:2px solid var(--warn)}
@media (max-width:640px){.best-column{stroke-width:.75}.quartiles{stroke-width:1.5}.points circle{r:1.8px}.points .improved{r:2.8px}.heat-map,.heat-map.short-names{grid-template-columns:34px minmax(0,1fr)}.row-names .wide{display:none}.row-names .narrow{display:inline}.plot{grid-template-columns:44px minmax(0,1fr)}.y-axis{width:44px;transform:translateX(-8px)}}`;

const log = `
.filter{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 12px;padding:0;border:0;font-size:14px}
.filter legend{float:left;margin-right:18px;padding:0;color:var(--muted)}
.filter label{cursor:pointer}
.filter input{accent-color:var(--accent)}
section:has(#show-improved:checked) .proposal:not(.improved),section:has(#show-failed:checked) .proposal:not(.failed){display:none}
.proposal{border-top:1px solid var(--rule);scroll-margin-top:8px}
.proposal>summary,.log-head{display:grid;grid-template-columns:56px 70px 124px minmax(0,1fr);gap:0 12px;align-items:baseline;padding:6px 4px;list-style:none;font-size:14px}
.log-head{margin:0;font-size:13px;color:var(--muted)}
.log-head span:nth-child(-n+2){text-align:right}
.proposal>summary::-webkit-details-marker{display:none}
.proposal>summary:hover{background:var(--shade)}
.proposal[open]>summary{background:var(--shade)}
.where{color:var(--muted);text-align:right}
.score{text-align:right;font-weight:600}
.reason{overflow:hidden;white-space:nowrap;text-overflow:ellipsis;color:var(--muted)}
.chip{display:inline-block;padding:0 7px;margin-right:4px;border-radius:99px;font-size:12px;font-weight:600;line-height:1.6;white-space:nowrap}
.chip.good{background:var(--good-soft);color:var(--good)}
.chip.bad{background:var(--bad-soft);color:var(--bad)}
.chip.warn{background:var(--warn-soft);color:var(--warn)}
.attempts{padding:10px 4px 18px}
.evaluated{font-size:14px;overflow-wrap:anywhere}
article{margin-top:14px;padding:2px 0 2px 16px;border-left:3px solid var(--rule)}
article details{margin:8px 0;font-size:14px}
article details>pre{margin-top:6px}
blockquote{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:14px}
.parameters,.failure{margin:0 0 8px;font-size:14px;overflow-wrap:anywhere}
.parameters{max-height:7.5em;overflow:auto;white-space:pre-wrap}
.failure{color:var(--bad)}
article .facts{margin-top:10px}
mark{background:var(--mark);color:inherit}
@media (max-width:640px){.log-head{display:none}.proposal>summary{grid-template-columns:34px 62px minmax(0,1fr);gap:0 8px}.reason{grid-column:1/-1;padding-left:6px}article{padding-left:10px}}`;
