import { type Html, html } from '../../format/html.js';
import { formatCost, formatCount, formatNumber } from '../../format/numbers.js';
import type { RevisionFigures } from '../data/revisions.js';

/** What the critic contributed; undefined for a run without one. */
export function criticView(figures: RevisionFigures | undefined): Html | undefined {
  if (figures === undefined) return undefined;
  const { calls, change, cost, distance, tokens } = figures;
  const rows = [
    ['better', figures.better],
    ['not better', figures.noBetter],
    ['kept as it was', figures.kept],
    ['rejected', figures.rejected],
  ] as const;
  return html`<div class="scroll" tabindex="0"><table class="failures">
<thead><tr><th scope="col">result</th><th scope="col" class="number">revisions</th></tr></thead>
<tbody>${rows.map(([name, count]) => html`<tr><th scope="row">${name}</th><td class="number" data-label="revisions">${formatCount(count)}</td></tr>`)}</tbody>
</table></div>
<p>${change !== null && distance !== null && html`A revision changed the mean return by ${formatNumber(change, 3)} on average, and the parameters by ${Math.round(100 * distance)} % of their range. `}The critic took ${formatCount(calls)} of the calls${tokens > 0 && html`, ${formatCount(tokens)} tokens`}${cost !== undefined && html`, a cost of ${formatCost(cost)}`}.</p>
<p class="note">Better means a higher mean return than the proposal on the same episodes. Of the two, the memory holds the better one.</p>`;
}
