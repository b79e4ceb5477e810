/** Draws parallel coordinates. Highlights the line nearest to the pointer; a click opens its run. */
import { useRef, useState } from 'preact/hooks';
import { parallelPicture } from '../../drawing/parallel.js';
import type { ParallelData, ParallelLine } from '../../parallel.js';
import { html, renderShapes } from '../base/html.js';
import { Readout, useWidth } from './parts.js';

export function ParallelPlot({ parallel }: { readonly parallel: ParallelData }) {
  const { lines } = parallel;
  const [container, minWidth] = useWidth();
  const [chosenLine, setChosenLine] = useState<number | undefined>(undefined);
  const { content, height, label, width, x, y } = parallelPicture(parallel, minWidth, chosenLine);
  const point = (event: PointerEvent & { readonly currentTarget: Element }) => {
    const box = event.currentTarget.getBoundingClientRect();
    setChosenLine(nearestLine(lines, [event.clientX - box.left, event.clientY - box.top], x, y));
  };
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === 'Enter' && chosenLine !== undefined) open();
    if (by === undefined) return;
    event.preventDefault();
    setChosenLine(Math.max(0, Math.min(lines.length - 1, (chosenLine ?? lines.length - 1 - by) + by)));
  };
  const linkRef = useRef<HTMLAnchorElement>(null);
  const open = () => linkRef.current?.click();
  const line = chosenLine === undefined ? undefined : lines[chosenLine];
  return html`<figure class="parallel"><div class="scroll" ref=${container}>
<svg class=${line ? 'pointed' : ''} width=${width} height=${height} role="img" aria-label=${label} tabindex="0" onPointerMove=${point} onPointerLeave=${({ pointerType }: PointerEvent) => pointerType === 'mouse' && setChosenLine(undefined)} onPointerDown=${point} onClick=${({ pointerType }: PointerEvent) => pointerType === 'mouse' && open()} onKeyDown=${onKey}>
${renderShapes(content)}
</svg></div>
<${Readout} of=${parallel} live="polite">${line ? html`${line.note} <a ref=${linkRef} href=${line.href}>${line.link}</a>` : 'Each line is a run, coloured by its result. Hover over a line or use the arrow keys to see its values; click to open the run.'}<//></figure>`;
}

/** Maximum vertical distance, in pixels, between the pointer and the line that it selects. */
const reachPixels = 24;

function nearestLine(
  lines: readonly ParallelLine[],
  [px, py]: readonly [number, number],
  x: (axis: number) => number,
  y: (share: number) => number,
): number | undefined {
  const count = lines[0]?.at.length ?? 0;
  const gap = count > 1 ? x(1) - x(0) : 1;
  const position = Math.max(0, Math.min(count - 1, (px - x(0)) / gap));
  const axis = Math.min(Math.floor(position), Math.max(0, count - 2));
  let [lineIndex, minDistance] = [undefined as number | undefined, reachPixels];
  for (const [i, { at }] of lines.entries()) {
    const [from = 0, to = from] = [at[axis], at[axis + 1]];
    const distance = Math.abs(y(from + (position - axis) * (to - from)) - py);
    if (distance <= minDistance) [lineIndex, minDistance] = [i, distance];
  }
  return lineIndex;
}
