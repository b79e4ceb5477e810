import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { formatNumber, formatReturn } from '../../../base/text/numbers.js';
import { bar, number, pageTable, text } from '../../../base/text/table.js';
import { type MemberFigures, type RevisionFigures, usedText } from '../data/contributions.js';

export function memberView(figures: readonly MemberFigures[]): Content | undefined {
  if (figures.length === 0) return undefined;
  return html`${pageTable(figures, [
    text('by', ({ member }) => member),
    number('candidates', ({ candidates }) => candidates),
    number('new bests', ({ improved }) => improved),
    bar(({ share }) => share),
    number('mean return', ({ mean }) => mean, { format: formatReturn }),
    number('best', ({ best }) => best, { format: formatReturn }),
  ])}
<p class="note">New best: higher than every earlier evaluation. Bar: share of all new bests.</p>`;
}

export function revisionView(figures: RevisionFigures | undefined): Content | undefined {
  if (figures === undefined) return undefined;
  const { change, distance } = figures;
  const rows = [
    ['better', figures.better],
    ['not better', figures.noBetter],
    ['unchanged', figures.kept],
    ['rejected', figures.rejected],
  ] as const;
  return html`${pageTable(rows, [text('result', ([name]) => name), number('revisions', ([, count]) => count)])}
<p>${change !== null && distance !== null && html`A revision changed the mean return by ${formatNumber(change, 3)} on average, and the parameters by ${Math.round(100 * distance)} % of their range. `}The revisions used ${usedText(figures)}.</p>
<p class="note">Better: a higher mean return than the proposal on the same episodes. By default, the memory keeps only the better of the two.</p>`;
}
