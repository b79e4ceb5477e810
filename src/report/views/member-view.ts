import { type Html, html } from '../../format/html.js';
import { formatCount, formatReturn } from '../../format/numbers.js';
import { percent } from '../charts/scale.js';
import type { MemberFigures } from '../data/members.js';

/** Contributions of the portfolio members; undefined for a run without members. */
export function memberView(figures: readonly MemberFigures[]): Html | undefined {
  if (figures.length === 0) return undefined;
  return html`<div class="scroll" tabindex="0"><table class="failures members">
<thead><tr><th scope="col">member</th><th scope="col" class="number">candidates</th><th scope="col" class="number">new bests</th><th scope="col" class="bar-cell"></th><th scope="col" class="number">mean return</th><th scope="col" class="number">best</th></tr></thead>
<tbody>${figures.map(memberRow)}</tbody>
</table></div>
<p class="note">A new best passed every evaluation before it. The bar is the share of all new bests.</p>`;
}

function memberRow({ best, candidates, improved, mean, member, share }: MemberFigures): Html {
  const value = (score: number | null) => (score === null ? '–' : formatReturn(score));
  return html`<tr><th scope="row">${member}</th><td class="number" data-label="candidates">${formatCount(candidates)}</td><td class="number" data-label="new bests">${formatCount(improved)}</td>
<td class="bar-cell"><svg width="100%" height="12" role="img" aria-label="${Math.round(100 * share)} %"><rect class="bar" width="${percent(share)}" height="12" rx="2"/></svg></td>
<td class="number" data-label="mean return">${value(mean)}</td><td class="number" data-label="best">${value(best)}</td></tr>`;
}
