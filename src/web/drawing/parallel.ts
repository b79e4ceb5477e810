/** Draws parallel coordinates as SVG. */
import { html } from '../../base/text/html.js';
import type { ParallelData, ParallelLine } from '../parallel.js';
import { savedWidth, shortenText } from './picture.js';

const [height, top, bottom] = [320, 34, 308];
/** Margins in pixels, for the labels of the first and the last axis. */
const [left, right] = [36, 64];
const minGap = 96;

/** Draws better results in stronger colours. @param minWidth in pixels @param chosen index of the highlighted line */
export function parallelPicture({ axes, label, lines }: ParallelData, minWidth = savedWidth, chosen = -1) {
  const width = Math.max(minWidth, left + right + minGap * (axes.length - 1));
  const x = (axis: number) => left + (axis * (width - left - right)) / Math.max(1, axes.length - 1);
  const y = (share: number) => bottom - share * (bottom - top);
  const path = ({ at }: ParallelLine) => `M${at.map((share, i) => `${x(i)} ${y(share)}`).join('L')}`;
  const line = lines[chosen];
  const ends = [
    ['start', 2 - left],
    ['middle', 0],
    ['end', right - 2],
  ] as const;
  const content = html`<g fill="none" stroke-width="1.5">${lines.map((one, i) => html`<g class=${one.group === line?.group && (i === chosen ? 'chosen' : 'related')}><path stroke="var(--spread)" d=${path(one)} /><path stroke="var(--accent)" opacity=${one.at.at(-1)} d=${path(one)} /></g>`)}
${line && html`<path class="chosen" stroke="var(--accent)" d=${path(line)} />`}</g>
<g fill="var(--muted)" font-size="12" paint-order="stroke" stroke="var(--card)" stroke-width="3">${axes.map(
    ({ ticks, title }, i) => {
      const [anchor, dx] = ends[i === 0 ? 0 : i === axes.length - 1 ? 2 : 1];
      return html`<path stroke="var(--point)" stroke-width="1" d=${`M${x(i)} ${y(1)}V${y(0)}`} />
<text class="title" x=${x(i)} y="14" text-anchor=${anchor} dx=${dx}>${shortenText(title, (0.85 * width) / axes.length)}<title>${title}</title></text>
${ticks.map(([at, text]) => html`<text x=${x(i) + 6} y=${y(at) + 4}>${shortenText(text, minGap)}</text>`)}`;
    },
  )}</g>`;
  return { label, width, height, content, legend: [], x, y };
}
