import type { Config } from '../../config/config.js';
import { type Html, html } from '../../format/html.js';
import { formatNumber, plural } from '../../format/numbers.js';
import type { ModelErrorKind } from '../../models/language-model.js';
import { faultsOf } from '../../runs/events.js';
import { placeName } from '../../runs/facts.js';
import { percent } from '../charts/scale.js';
import { isRejected, type LoggedProposal, proposalId } from '../data/proposals.js';
import {
  explainFailure,
  type FailureKind,
  failureKind,
  failureMeaning,
  faultMeaning,
} from './failure-text.js';

interface FailureGroup {
  readonly kind: FailureKind;
  count: number;
  /** Calls after which the same proposal was accepted in the end. */
  mended: number;
  last: { readonly text: string; readonly proposal: LoggedProposal };
}

/** Failed calls by kind: a bar and a row each. */
export function failureView(proposals: readonly LoggedProposal[], config: Pick<Config, 'candidates'>): Html {
  return html`${failedCalls(proposals, config)}${faultTable(proposals)}`;
}

/** What went wrong at the provider, tries that a retry mended included. */
function faultTable(proposals: readonly LoggedProposal[]): Html | undefined {
  const counts = new Map<string, number>();
  for (const { attempts } of proposals) {
    for (const { call } of attempts) {
      for (const kind of faultsOf(call)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return undefined;
  const rows = [...counts].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const most = rows[0]![1];
  return html`<h3>Faults of the provider</h3>
<div class="scroll" tabindex="0"><table class="failures faults">
<thead><tr><th scope="col">kind</th><th scope="col" class="number">times</th><th scope="col" class="bar-cell"></th><th scope="col">meaning</th></tr></thead>
<tbody>${rows.map(
    ([kind, count]) => html`<tr><th scope="row">${kind}</th><td class="number">${count}</td>
<td class="bar-cell"><svg width="100%" height="12" aria-hidden="true"><rect class="bar" width="${percent(count / most)}" height="12" rx="2"/></svg></td>
<td>${faultMeaning[kind as ModelErrorKind]}</td></tr>`,
  )}</tbody>
</table></div>
<p class="note">Of every try, also of those that a retry mended, and of replies that were used all the same.</p>`;
}

function failedCalls(proposals: readonly LoggedProposal[], config: Pick<Config, 'candidates'>): Html {
  const calls = proposals.reduce((sum, proposal) => sum + proposal.attempts.length, 0);
  const groups = failureGroups(proposals);
  const failed = groups.reduce((sum, group) => sum + group.count, 0);
  if (failed === 0)
    return html`<p class="empty">No call failed${calls > 0 && ` (${plural(calls, 'call')})`}.</p>`;
  const most = groups[0]!.count;
  const rejected = proposals.filter(isRejected).length;
  return html`<p>${failed} of ${plural(calls, 'call')} (${formatNumber((100 * failed) / calls, 3)} %) gave no usable parameters; ${rejected === 0 ? 'every proposal came through in the end' : `${plural(rejected, 'proposal')} came to nothing`}.</p>
<div class="scroll" tabindex="0"><table class="failures">
<thead><tr><th scope="col">kind</th><th scope="col" class="number">calls</th><th scope="col" class="bar-cell"></th><th scope="col" class="number">mended</th><th scope="col">meaning, and the latest</th></tr></thead>
<tbody>${groups.map(
    ({ kind, count, mended, last }) => html`<tr><th scope="row">${kind}</th><td class="number">${count}</td>
<td class="bar-cell"><svg width="100%" height="12" aria-hidden="true"><rect class="bar" width="${percent(count / most)}" height="12" rx="2"/></svg></td>
<td class="number mended">${mended}</td><td>${failureMeaning(kind)}<br><a href="#${proposalId(last.proposal)}">${placeName(last.proposal, config)}</a>: <span class="muted">${last.text.slice(0, 200)}</span></td></tr>`,
  )}</tbody>
</table></div>
<p class="note">Mended: a later call of the same proposal was accepted.</p>`;
}

/** The most frequent first; equal ones by name. */
function failureGroups(proposals: readonly LoggedProposal[]): readonly FailureGroup[] {
  const groups = new Map<FailureKind, FailureGroup>();
  for (const proposal of proposals) {
    const accepted = !isRejected(proposal);
    for (const { call } of proposal.attempts) {
      const kind = failureKind(call.outcome);
      if (kind === undefined) continue;
      const text =
        call.outcome.kind === 'rejected'
          ? explainFailure(call.outcome.failure)
          : call.outcome.kind === 'error'
            ? call.outcome.message
            : '';
      const last = { text, proposal };
      const group = groups.get(kind);
      if (group === undefined) groups.set(kind, { kind, count: 1, mended: accepted ? 1 : 0, last });
      else {
        group.count++;
        if (accepted) group.mended++;
        group.last = last;
      }
    }
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count || (a.kind < b.kind ? -1 : 1));
}
