/** Draws rows of estimates with their intervals on a common axis. */
import { type ComponentChildren, toChildArray } from 'preact';
import { formatNumber } from '../../../base/text/numbers.js';
import { largest, smallest } from '../../../statistics/descriptive.js';
import type { IntervalRows } from '../../interval-rows.js';
import { percent, ticksWithin } from '../../ticks.js';
import { html } from '../base/html.js';

type Props = IntervalRows & { readonly children?: ComponentChildren };

export function IntervalRowsFigure({ caption, children, line, range, rows, title }: Props) {
  const ends = [
    ...(range ?? []),
    ...(line === undefined ? [] : [line]),
    ...rows.flatMap(({ interval, value }) => [...(value === null ? [] : [value]), ...(interval ?? [])]),
  ].filter(Number.isFinite);
  const [least, most] = ends.length === 0 ? [0, 1] : [smallest(ends), largest(ends)];
  const room = most > least ? 0 : Math.abs(least) * 0.1 || 1;
  const [low, high] = [least - room, most + room];
  const x = (value: number) => percent((Math.min(high, Math.max(low, value)) - low) / (high - low));
  const names = toChildArray(children);
  return html`<figure class="intervals">
<p class="y-title">${title}</p>
<ul role="list">${rows.map(
    ({ detail, interval, isMuted, text, value }, i) => html`<li class=${isMuted ? 'aside' : ''}>${names[i]}
<svg width="100%" height="24" aria-hidden="true">${line !== undefined && html`<line class="level" x1=${x(line)} x2=${x(line)} y2="24" />`}${interval && html`<line x1=${x(interval[0])} x2=${x(interval[1])} y1="12" y2="12" />`}${value !== null && html`<circle cx=${x(value)} cy="12" r="4.5" />`}</svg>
<span><b>${text}</b> <span class="muted">${detail}</span></span></li>`,
  )}<li class="axis" aria-hidden="true"><svg width="100%" height="20">${ticksWithin(low, high, 4).map((tick) => html`<text x=${x(tick)} y="14">${formatNumber(tick)}</text>`)}</svg></li></ul>
${caption && html`<figcaption>${caption}</figcaption>`}
</figure>`;
}
