import { styleText } from 'node:util';
import { groupBy } from '../../base/grouped.js';
import { formatDuration, formatInterval, formatReturn, plural } from '../../base/text/numbers.js';
import { number, terminalTable, text } from '../../base/text/table.js';
import type { ParameterVector } from '../../policies/policy.js';
import { type BufferEntry, bestEntries } from '../../rollout/replay-buffer.js';
import { failureKind } from '../../runs/failure-text.js';
import { type Labels, readLabels } from '../../runs/listing/labels.js';
import type { BestCandidate, Manifest } from '../../runs/manifest.js';
import type { OpenedRun } from '../../runs/open-run.js';
import { programTitle, sourceLines } from '../../runs/program-text.js';
import {
  candidateName,
  formatCaps,
  formatFaults,
  formatUsage,
  noiseText,
  type RunResult,
  resultOf,
  summaryOf,
} from '../../runs/summary.js';
import { largest, mean, smallest, sum } from '../../statistics/descriptive.js';
import {
  type MemberFigures,
  memberFigures,
  type RevisionFigures,
  revisionFigures,
  revisionText,
} from './data/contributions.js';
import { policyLines, projectedWeights } from './data/policy-text.js';
import { loggedProposals, memberAt } from './data/proposals.js';
import { taskLabels } from './data/task-labels.js';

interface TextOptions {
  /** Number of evaluations to list, best first. */
  readonly top: number;
  readonly cwd: string;
  readonly columns?: number | undefined;
}

/** Output of `show --json` for a run. */
export interface RunFigures extends RunResult, Labels, Pick<Manifest, 'environment' | 'model' | 'seed'> {
  readonly top: readonly (BestCandidate & {
    /** The portfolio member, relay leg, tuning search or stage that proposed it; absent if it was none of these. */
    readonly by?: string;
    /** The weights that the parameters define; present only if the parameters are coordinates in a random subspace. */
    readonly weights?: ParameterVector;
  })[];
  /** The member, leg or tuning search that proposed the best policy (the confirmed one, if there is one). */
  readonly foundBy?: string;
  /** Contributions of the members of a portfolio, the legs of a relay or the search that tunes constants. */
  readonly members?: readonly MemberFigures[];
  /** Contribution of revisions; absent if none was requested. */
  readonly revisions?: RevisionFigures;
  /** Number of rejected and failed calls by kind, except aborted ones. */
  readonly failures: Readonly<Record<string, number>>;
}

export function runFigures(run: OpenedRun, { top, cwd }: TextOptions): RunFigures {
  const { path, manifest, family, recorded } = run;
  const { calls, entries, events } = recorded;
  const proposals = loggedProposals(recorded);
  const memberByEntry = new Map(proposals.map(({ entry, member }) => [entry, member]));
  const members = memberFigures(proposals);
  const revisions = revisionFigures(events, calls);
  const kinds = proposals.flatMap(({ attempts }) =>
    attempts.map(({ faults, outcome }) => failureKind(outcome, faults)),
  );
  const failures = groupBy(
    kinds.filter((kind) => kind !== undefined && kind !== 'aborted'),
    (kind) => kind,
  );
  const result = resultOf(summaryOf(path, manifest), cwd);
  const best = result.confirmed ?? result.best;
  const foundBy = best ? memberAt(proposals, best) : undefined;
  return {
    ...result,
    ...(foundBy !== undefined && { foundBy }),
    iterations: Math.max(manifest.iterations.done, recorded.iteration),
    ...readLabels(path),
    environment: manifest.environment,
    model: manifest.model,
    seed: manifest.seed,
    top: bestEntries(entries, top).map((entry) => {
      const { iteration, candidate, score, parameters, program } = entry;
      const by = entry.by ?? memberByEntry.get(entry);
      const weights = projectedWeights(family.description, parameters);
      return {
        iteration,
        candidate,
        return: score,
        parameters,
        ...(program !== undefined && { program }),
        ...(by !== undefined && { by }),
        ...(weights && { weights }),
      };
    }),
    ...(members.length > 0 && { members }),
    ...(revisions && { revisions }),
    failures: Object.fromEntries([...failures].map(([kind, own]) => [kind, own.length])),
  };
}

/** Formats the output of `show` for a run: learning curve, best evaluations, best policy, usage. */
export function runText(run: OpenedRun, options: TextOptions): string {
  const { path, config, manifest, recorded } = run;
  const { columns, top } = options;
  const figures = runFigures(run, options);
  const { caps, confirmed, revisions, usage } = figures;
  const { entries } = recorded;
  const scores = entries.map(({ score }) => score);
  const failedCalls = sum(Object.values(figures.failures));
  const otherFaults = Object.entries(usage.faults ?? {})
    .map(([kind, count]) => [kind, count - (figures.failures[kind] ?? 0)] as const)
    .filter(([, count]) => count > 0);
  const rangeText = formatInterval([smallest(scores), largest(scores)]);
  const { ended } = summaryOf(path, manifest);
  const amounts = `${figures.iterations} of ${plural(manifest.iterations.of, 'iteration')}, ${plural(entries.length, 'evaluation')}, ${formatDuration(manifest.activeMs)}`;
  const lines: readonly (string | false | undefined)[] = [
    styleText('bold', `${manifest.run}  ${manifest.environment}  ${manifest.model}  seed ${manifest.seed}`),
    // Error messages may be long, so they get their own line.
    ...(manifest.reason && 'message' in manifest.reason ? [ended, amounts] : [`${ended}, ${amounts}`]),
    '',
    scores.length > 0 &&
      `${sparkline(scores, Math.min(60, (columns ?? 120) - rangeText.length - 2))}  ${rangeText}\n`,
    bestTable(bestEntries(entries, top), figures.top, columns),
    '',
    confirmed === null
      ? 'not confirmed'
      : `confirmed ${formatReturn(confirmed.mean)}, 95 % interval ${formatInterval(confirmed.ci95)}, ${plural(confirmed.episodes, 'fresh episode')} (${candidateName(confirmed, config)})`,
    figures.noise && `noise floor ${noiseText(figures.noise)}`,
    '',
    ...describePolicy(run, figures, columns),
    '',
    revisions && `revised   ${revisionText(revisions)}`,
    ...(figures.members ?? []).map((member) => `by        ${memberText(member)}`),
    `usage     ${formatUsage(usage)}`,
    caps && `limits    ${formatCaps(caps)}`,
    `failures  ${failedCalls === 0 ? 'none' : `${formatFaults(figures.failures)} (${failedCalls} of ${plural(usage.calls, 'call')})`}`,
    otherFaults.length > 0 &&
      `faults    ${formatFaults(Object.fromEntries(otherFaults))} (no call failed because of these)`,
    figures.tags.length > 0 && `tags      ${figures.tags.join(' ')}`,
    `report    ${figures.report}`,
  ];
  return lines.filter((line) => line !== false && line !== undefined).join('\n');
}

function bestTable(best: readonly BufferEntry[], top: RunFigures['top'], width: number | undefined): string {
  const proposerOf = (entry: BufferEntry) => top[best.indexOf(entry)]?.by;
  const columns = [
    number('rank', (entry: BufferEntry) => best.indexOf(entry) + 1),
    number('mean return', ({ score }: BufferEntry) => score, { format: formatReturn }),
    number('min', ({ returns }: BufferEntry) => smallest(returns), { format: formatReturn }),
    number('max', ({ returns }: BufferEntry) => largest(returns), { format: formatReturn }),
    number('iteration', ({ iteration }: BufferEntry) => iteration || 'warm-up'),
    number('candidate', ({ candidate }: BufferEntry) => candidate + 1),
    ...(top.some(({ by }) => by !== undefined) ? [text('by', proposerOf)] : []),
  ];
  return terminalTable(best, columns, width);
}

function memberText({ best, candidates, improved, member }: MemberFigures): string {
  const bestText = best === null ? 'none evaluated' : `best ${formatReturn(best)}`;
  return `${member}: ${plural(candidates, 'candidate')}, ${plural(improved, 'new best')}, ${bestText}`;
}

function describePolicy(
  { config, family, manifest }: OpenedRun,
  { best: observed, confirmed, foundBy, run }: RunFigures,
  width: number | undefined,
): readonly string[] {
  const best = confirmed ?? observed;
  if (best === null) return ['no policy yet'];
  const origin = foundBy === undefined ? '' : `  ${foundBy}, ${candidateName(best, config)}`;
  if (best.program !== undefined)
    return [
      `${styleText('bold', 'best policy')}  ${programTitle(best)}${origin}`,
      ...sourceLines(best.program, 2, `policyloop show ${run} --json`),
    ];
  const { description } = family;
  const labels = taskLabels(manifest.environment, description, manifest.spec);
  return [
    `${styleText('bold', 'best policy')}${origin}`,
    ...policyLines(description, family.parameters, best.parameters, labels, width),
  ];
}

const blockCharacters = '▁▂▃▄▅▆▇█';

/** Renders means of consecutive values as up to `width` block characters, from ▁ (the lowest) to █ (the highest). */
export function sparkline(values: readonly number[], width = 40): string {
  const columns = Math.min(values.length, Math.max(1, Math.floor(width)));
  const heights = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns);
    return mean(values.slice(from, Math.floor(((column + 1) * values.length) / columns)));
  });
  const [low, high] = [smallest(heights), largest(heights)];
  const shareOf = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
  return heights.map((value) => blockCharacters[Math.min(7, Math.floor(8 * shareOf(value)))]).join('');
}
