import { type Html, html } from '../../format/html.js';
import { formatCost, formatCount, formatNumber, plural } from '../../format/numbers.js';
import type { FeedbackFigures } from '../data/feedback.js';

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
