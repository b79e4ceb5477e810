import type { Content } from '../../../base/text/content.js';
import { html, preformatted } from '../../../base/text/html.js';
import {
  costNote,
  distinctFormat,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatReturn,
  formatTime,
  plural,
} from '../../../base/text/numbers.js';
import { shellWord } from '../../../base/text/one-line.js';
import { estimate, number, pageTable, text } from '../../../base/text/table.js';
import type { Config } from '../../../config/config.js';
import type { PolicyDescription } from '../../../policies/policy.js';
import { type BufferEntry, bestEntry } from '../../../rollout/replay-buffer.js';
import { type Confirmation, finalConfirmation } from '../../../runs/events.js';
import type { Manifest } from '../../../runs/manifest.js';
import { programTitle } from '../../../runs/program-text.js';
import { candidateName, endText } from '../../../runs/summary.js';
import { factList, pageHeader, resultTile, tile, warningList } from '../../study.js';
import {
  isFailed,
  isRejected,
  type LoggedProposal,
  proposalId,
  type RunData,
  skipRevisions,
} from '../data/proposals.js';

const subspaceText = ({ projection }: PolicyDescription & { kind: 'linear' | 'mlp' }) =>
  projection === undefined ? '' : ' in a random subspace of its weights';

function policyName(policy: Exclude<PolicyDescription, { kind: 'program' }>): string {
  switch (policy.kind) {
    case 'q-table':
      return 'Q-table';
    case 'mlp':
      return `network with ${policy.hidden.join(' and ')} hidden units (${policy.activation})${subspaceText(policy)}`;
    case 'linear':
      return `linear policy${subspaceText(policy)}`;
    case 'module':
      return policy.name;
  }
}

export function runHeader(
  data: Pick<RunData, 'ended' | 'manifest' | 'parameters' | 'policy' | 'status'>,
): Content {
  const { manifest, policy, parameters, status } = data;
  const { confirmations, best } = manifest;
  return pageHeader({
    kicker: html`run <b>${manifest.run}</b>`,
    title: html`${manifest.environment} <span class="by">with</span> ${manifest.model}`,
    status,
    state: endText(data, 'iterations'),
    facts: [
      [
        'policy',
        policy.kind === 'program'
          ? programTitle(finalConfirmation(confirmations) ?? best)
          : `${policyName(policy)}, ${plural(parameters.count, 'parameter')}`,
      ],
      ['seed', manifest.seed],
      ['started', formatTime(manifest.created)],
    ],
  });
}

/** Shows the most important results, starting with the confirmed mean or, if no proposal was accepted, the reason. */
export function headline(data: RunData, proposals: readonly LoggedProposal[]): Content {
  const { confirmed, manifest, entries, config } = data;
  const best = bestEntry(entries);
  const warmupCount = entries.filter((entry) => entry.source !== 'proposal').length;
  const requestedProposals = skipRevisions(proposals);
  const lostCount = requestedProposals.filter(isRejected).length;
  const attempts = proposals.flatMap((proposal) => proposal.attempts);
  const failedCalls = attempts.filter(isFailed).length;
  const { usage } = manifest;
  return html`<dl class="headline main">
${
  manifest.reason?.kind === 'no-proposals'
    ? tile(
        'Proposals accepted',
        '0',
        `of ${formatCount(requestedProposals.length)}; first reason: ${manifest.reason.message}`,
      )
    : resultTile(
        'Confirmed mean return',
        confirmed?.mean,
        confirmed?.ci95,
        confirmed
          ? `on ${plural(confirmed.episodes, 'fresh episode')}`
          : `not confirmed${data.status === 'completed' ? '' : ' yet'}`,
      )
}
${best && tile('Best observed mean return', distinctFormat([best.score, confirmed?.mean])(best.score), observedNote(best, config))}
</dl>
<dl class="headline">
${tile('Iterations', formatCount(manifest.iterations.done), `of ${formatCount(manifest.iterations.of)}`)}
${tile('Evaluations', formatCount(entries.length), warmupCount > 0 ? `${formatCount(warmupCount)} in the warm-up` : 'no warm-up')}
${tile('Failed calls', formatCount(failedCalls), `of ${formatCount(attempts.length)}${failedCalls === 0 ? '' : lostCount === 0 ? '; every proposal succeeded' : `; ${plural(lostCount, 'proposal')} lost`}`)}
${usage.promptTokens + usage.completionTokens > 0 && tile('Tokens', formatCompact(usage.promptTokens + usage.completionTokens), `${formatCompact(usage.promptTokens)} in, ${formatCompact(usage.completionTokens)} out`)}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), costNote(usage))}
${tile('Time', formatDuration(manifest.activeMs), usage.latencyMs >= 1 ? `${formatDuration(usage.latencyMs)} in model calls` : 'no model calls')}
</dl>`;
}

function observedNote(best: BufferEntry, config: Config): Content {
  const origin =
    best.source === 'proposal'
      ? html`<a href="#${proposalId(best)}">${candidateName(best, config)}</a>`
      : html`the warm-up`;
  return html`over ${plural(config.evaluation.episodes, 'episode')}, in ${origin}; optimistic, because it is the maximum of many noisy means`;
}

/** Shows each confirmed candidate's return on fresh episodes next to its observed score. */
export function confirmationTable(
  confirmations: readonly Confirmation[],
  config: Pick<Config, 'candidates'>,
): Content | undefined {
  if (confirmations.length === 0) return undefined;
  return html`<div>${pageTable(confirmations, [
    text('candidate', (confirmation) => ({
      text: candidateName(confirmation, config),
      detail: confirmation.stage === 'final' ? 'chosen' : undefined,
      href: confirmation.iteration > 0 ? `#${proposalId(confirmation)}` : undefined,
    })),
    number('observed', ({ observed }) => observed, { format: formatReturn }),
    estimate('fresh', ({ mean, ci95 }) => ({ value: mean, interval: ci95 })),
    number('episodes', ({ episodes }) => episodes),
  ])}
<p class="note">${confirmations.some(({ stage }) => stage === 'selection') ? 'The candidates within the noise floor of the best were compared on fresh episodes. Each round kept the better half for more episodes; the winner was then evaluated on further fresh episodes.' : 'The best candidate was evaluated on fresh episodes.'}</p></div>`;
}

/** Lists the run's distinct warnings with their counts, and unreadable parts. */
export function warningsView({ events, faults }: Pick<RunData, 'events' | 'faults'>): Content | undefined {
  const counts = new Map<string, number>();
  for (const event of events)
    if (event.kind === 'warning') counts.set(event.message, (counts.get(event.message) ?? 0) + 1);
  for (const fault of faults) counts.set(fault, 1);
  return warningList(
    [...counts].map(([message, count]) => [
      message,
      count > 1 && html` <span class="muted">(${count} times)</span>`,
    ]),
  );
}

/** Shows how to repeat, evaluate and resume the run, and which versions it used. */
export function reproduction(data: RunData): Content {
  const { manifest } = data;
  const commands = [
    '# repeat the experiment in a new directory',
    `npx policyloop run config.yaml --run-dir ${shellWord(`../${manifest.run}-again`)}`,
    '# evaluate its best policy on new seeds',
    'npx policyloop evaluate .',
    '# resume the run',
    'npx policyloop resume .',
  ];
  return html`<p>In the directory of this file:</p>
${preformatted(commands.join('\n'))}
<p>The same config, seed and version give the same <code>evaluations.jsonl</code>, byte for byte, if the model gives the same replies.</p>
${versionFacts(manifest)}`;
}

/** Lists what must be equal for two runs to give the same results. */
export const versionFacts = ({ fingerprint, prompts, seed, versions }: Manifest): Content =>
  factList([
    ['policyloop', versions.policyloop],
    ['git commit', versions.commit],
    ['Node.js', versions.node],
    ['seed', seed],
    ['config fingerprint', html`<code>${fingerprint}</code>`],
    ['prompt template hash', html`<code>${prompts}</code>`],
  ]);
