import { type Html, html } from '../../format/html.js';
import { formatCost, formatCount, formatNumber, formatReturn, plural } from '../../format/numbers.js';
import { barCell } from '../charts/plot.js';
import type { FeedbackFigures, MemberFigures, RevisionFigures } from '../data/contributions.js';

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
${barCell(share, `${Math.round(100 * share)} %`)}
<td class="number" data-label="mean return">${value(mean)}</td><td class="number" data-label="best">${value(best)}</td></tr>`;
}

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

/** Maximum number of questions on a page; the rest are in events.jsonl. */
const mostTold = 200;

const outcomes = {
  given: '',
  skipped: 'skipped',
  unanswered: 'nobody answered in time',
  unusable: 'no answer that could be used',
} as const;

/** The feedback given on episodes; undefined if nobody was asked. */
export function feedbackView(figures: FeedbackFigures | undefined): Html | undefined {
  if (figures === undefined || figures.results.length === 0) return undefined;
  const { calls, cost, rating, results, tokens } = figures;
  const told = results.slice(-mostTold);
  const rows = told.map(
    ({ candidate, episode, from, iteration, rating: given, remark, result }) =>
      html`<tr><th scope="row" class="number">${iteration}${candidate > 0 && html`<small>.${candidate + 1}</small>`}</th><td class="number" data-label="episode">${episode + 1}</td><td data-label="from">${from === 'person' ? 'a person' : 'a vision model'}</td><td class="number" data-label="rating">${given ?? '–'}</td><td data-label="remark">${result === 'given' ? (remark ?? '–') : html`<span class="muted">${outcomes[result]}</span>`}</td></tr>`,
  );
  return html`<div class="scroll" tabindex="0"><table class="failures">
<thead><tr><th scope="col" class="number">iteration</th><th scope="col" class="number">episode</th><th scope="col">from</th><th scope="col" class="number">rating</th><th scope="col">remark</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>
<p>${told.length < results.length && html`The last ${told.length} of ${plural(results.length, 'question')}. `}${rating !== null && html`The mean rating is ${formatNumber(rating, 2)} of 5. `}Feedback took ${formatCount(calls)} of the calls${tokens > 0 && html`, ${formatCount(tokens)} tokens`}${cost !== undefined && html`, a cost of ${formatCost(cost)}`}.</p>
<p class="note">Of an iteration, the episode with the median return of its best evaluation was shown. What was said stands below that evaluation in the prompts that followed.</p>`;
}
