/** Draws parallel coordinates. Highlights the line nearest to the pointer; a click opens its run. */
import { useRef, useState } from 'preact/hooks';
import type { Parallel, ParallelLine } from '../../parallel.js';
import { html } from '../base/html.js';
import { useWidth } from './width.js';

const height = 320;
const top = 34;
const bottom = 12;
/** Margins in pixels, for the labels of the first and the last axis. */
const [left, right] = [36, 64];
const leastGap = 96;

export function ParallelPlot({ parallel }: { readonly parallel: Parallel }) {
  const { axes, label, lines } = parallel;
  const [place, width] = useWidth();
  const [chosen, setChosen] = useState<number | null>(null);
  const wide = Math.max(width, left + right + leastGap * (axes.length - 1));
  const x = (axis: number) => left + (axis * (wide - left - right)) / Math.max(1, axes.length - 1);
  const y = (share: number) => top + (1 - share) * (height - top - bottom);
  const path = ({ at }: ParallelLine) => `M${at.map((share, i) => `${x(i)} ${y(share)}`).join('L')}`;
  const point = (event: PointerEvent & { readonly currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect();
    setChosen(nearest(lines, [event.clientX - box.left, event.clientY - box.top], x, y));
  };
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === 'Enter' && chosen !== null) open();
    if (by === undefined) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(lines.length - 1, chosen === null ? lines.length - 1 : chosen + by)));
  };
  const note = useRef<HTMLAnchorElement>(null);
  const open = () => note.current?.click();
  const line = chosen === null ? undefined : lines[chosen];
  return html`<figure class="parallel"><div class="scroll" ref=${place}>
<svg class=${line ? 'pointed' : ''} paint-order="stroke" width=${wide} height=${height} role="img" aria-label=${label} tabindex="0" onPointerMove=${point} onPointerLeave=${({ pointerType }: PointerEvent) => pointerType === 'mouse' && setChosen(null)} onPointerDown=${point} onClick=${({ pointerType }: PointerEvent) => pointerType === 'mouse' && open()} onKeyDown=${onKey}>
${lines.map((one, i) => html`<path key=${i} class=${one.group === line?.group ? (i === chosen ? 'chosen' : 'related') : ''} style=${{ stroke: shade(one.at.at(-1)!) }} d=${path(one)} />`)}
${line && html`<path class="chosen" d=${path(line)} style=${{ stroke: shade(1) }} />`}
${axes.map(
  ({ ticks, title }, i) => html`<g key=${i}><line x1=${x(i)} x2=${x(i)} y1=${y(1)} y2=${y(0)} />
<text class="title" x=${x(i)} y="14" text-anchor=${i === 0 ? 'start' : i === axes.length - 1 ? 'end' : 'middle'} dx=${i === 0 ? -left + 2 : i === axes.length - 1 ? right - 2 : 0}>${shortened(title, (0.85 * wide) / axes.length)}<title>${title}</title></text>
${ticks.map(([at, text]) => html`<text x=${x(i) + 6} y=${y(at) + 4}>${shortened(text, leastGap)}</text>`)}</g>`,
)}
</svg></div>
<p class="readout" aria-live="polite">${line ? html`${line.note} <a ref=${note} href=${line.href}>${line.link}</a>` : 'Each line is a run, coloured by its result. Hover over a line or use the arrow keys to see its values; click to open the run.'}</p></figure>`;
}

/** Approximate width of a character in labels, in pixels. */
const character = 6.6;

/** Keeps the end of a long text, such as `…temperature`, because the end of a key is the most specific part. */
function shortened(text: string, room: number): string {
  const most = Math.max(6, Math.floor(room / character));
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

/** Maximum vertical distance, in pixels, between the pointer and the line that it selects. */
const reach = 24;

function nearest(
  lines: readonly ParallelLine[],
  [px, py]: readonly [number, number],
  x: (axis: number) => number,
  y: (share: number) => number,
): number | null {
  const count = lines[0]?.at.length ?? 0;
  const gap = count > 1 ? x(1) - x(0) : 1;
  const place = Math.max(0, Math.min(count - 1, (px - x(0)) / gap));
  const axis = Math.min(Math.floor(place), Math.max(0, count - 2));
  let [found, least] = [null as number | null, reach];
  for (const [i, { at }] of lines.entries()) {
    const [from = 0, to = from] = [at[axis], at[axis + 1]];
    const distance = Math.abs(y(from + (place - axis) * (to - from)) - py);
    if (distance <= least) [found, least] = [i, distance];
  }
  return found;
}

/** A stronger colour for a better result. @param share 0 to 1 */
const shade = (share: number) =>
  `color-mix(in oklab, var(--accent) ${Math.round(100 * share)}%, var(--spread))`;
