import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { formatReturn } from '../../../base/text/numbers.js';
import { number, pageTable, shareBar, text } from '../../../base/text/table.js';
import { type MemberFigures, type RevisionFigures, revisionText } from '../data/contributions.js';

export function memberView(figures: readonly MemberFigures[]): Content | undefined {
  if (figures.length === 0) return undefined;
  return html`${pageTable(figures, [
    text('proposer', ({ member }) => member),
    number('candidates', ({ candidates }) => candidates),
    number('new bests', ({ improved }) => improved),
    shareBar(({ share }) => share),
    number('mean return', ({ mean }) => mean, { format: formatReturn }),
    number('best', ({ best }) => best, { format: formatReturn }),
  ])}
<p class="note">New best: higher than every earlier evaluation. Bar: share of all new bests.</p>`;
}

export const revisionView = (figures: RevisionFigures | undefined): Content =>
  figures &&
  html`<p>Asked ${revisionText(figures)}.</p>
<p class="note">Better: a higher mean return than the proposal on the same episodes. Later proposals see only the better of the two.</p>`;
