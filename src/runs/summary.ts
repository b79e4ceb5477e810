import { join } from 'node:path';
import { styleText } from 'node:util';
import { append } from '../base/append.js';
import { shownPath } from '../base/context.js';
import {
  distinctFormat,
  formatCompact,
  formatCost,
  formatDuration,
  formatInterval,
  plural,
} from '../base/text/numbers.js';
import type { ParameterSpec } from '../policies/policy.js';
import { formatParameters } from '../prompting/notation/grammar.js';
import { type LimitUsage, limitText, type UsageTotals } from './calls.js';
import { type Confirmation, finalConfirmation, type Noise } from './events.js';
import type { BestCandidate, Manifest } from './manifest.js';
import { programTitle, sourceLines } from './program-text.js';
import { type RunStatus, readManifest, runFiles, statusOf } from './reader.js';

/** The state and result of a run, read from its manifest without the logs. */
export interface RunSummary {
  readonly path: string;
  readonly manifest: Manifest;
  /** The current status; unlike the manifest's, it can be `crashed`. */
  readonly status: RunStatus;
  /** Why the run ended, in words, or its status. */
  readonly ended: string;
  /** True if the target or a limit ended the run. */
  readonly stoppedEarly: boolean;
  /** The confirmation that counts as the result. */
  readonly confirmed: Confirmation | null;
  /** Highest observed mean return; biased upwards, because it is the maximum of noisy estimates. */
  readonly observed: number | null;
  /** Prompt and completion tokens of all calls. */
  readonly tokens: number;
}

/** @throws UserError if `path` holds no run, or its manifest is damaged */
export function summaryOf(path: string, manifest = readManifest(path)): RunSummary {
  const status = statusOf(path, manifest);
  const { best, confirmations, reason, usage } = manifest;
  return {
    path,
    manifest,
    status,
    ended: describeReason({ status, ...(reason && { reason }) }).trim(),
    stoppedEarly:
      reason?.kind === 'no-proposals'
        ? reason.limit !== undefined
        : status === 'completed' && reason?.kind !== 'iterations',
    confirmed: finalConfirmation(confirmations) ?? null,
    observed: best?.return ?? null,
    tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** The last line that `run` and `resume` print with `--json`. */
export interface RunResult extends Pick<Manifest, 'reason' | 'noise' | 'usage' | 'caps'> {
  /** Path of the run directory. */
  readonly run: string;
  readonly status: RunStatus;
  /** Complete iterations. */
  readonly iterations: number;
  /** The highest observed mean return, which is biased upwards. */
  readonly best: BestCandidate | null;
  /** Evaluation of the chosen candidate on fresh seeds; null if there is none. */
  readonly confirmed: Confirmation | null;
  readonly report: string;
}

export function resultOf({ path, manifest, status, confirmed }: RunSummary, cwd: string): RunResult {
  return {
    run: shownPath(path, cwd),
    status,
    ...(manifest.reason && { reason: manifest.reason }),
    iterations: manifest.iterations.done,
    best: manifest.best ?? null,
    confirmed,
    ...(manifest.noise && { noise: manifest.noise }),
    usage: manifest.usage,
    ...(manifest.caps && { caps: manifest.caps }),
    report: shownPath(join(path, runFiles.report), cwd),
  };
}

export function describeResult(result: RunResult, spec: ParameterSpec): string {
  const { best, confirmed } = result;
  const asText = distinctFormat([best?.return, confirmed?.mean]);
  const lines = [`${styleText('bold', headlineOf(result))} after ${plural(result.iterations, 'iteration')}`];
  const cause = causeOf(result);
  if (cause !== undefined) lines.push(`because     ${cause}`);
  if (best !== null) {
    lines.push(`observed    ${asText(best.return)}  best mean return, ${candidateText(best)}`);
  }
  lines.push(
    confirmed === null
      ? 'confirmed   none'
      : `confirmed   ${asText(confirmed.mean)}  95 % interval ${formatInterval(confirmed.ci95)} over ${plural(confirmed.episodes, 'fresh episode')}, ${candidateText(confirmed)}`,
  );
  if (result.noise !== undefined) lines.push(`noise floor ${noiseText(result.noise)}`);
  const policy = confirmed ?? best;
  const policyTitle = policy && `${confirmed ? 'confirmed' : 'best observed'}, ${candidateText(policy)}: `;
  if (policy?.program !== undefined)
    append(lines, [
      `policy      ${policyTitle}${programTitle(policy)}`,
      ...sourceLines(policy.program, 12, `policyloop show ${result.run} --json`),
    ]);
  else if (policy !== null)
    lines.push(`policy      ${policyTitle}${shorten(formatParameters(policy.parameters, spec))}`);
  const { caps, usage } = result;
  append(lines, [
    `usage       ${formatUsage(usage)}`,
    ...(caps ? [`limits      ${formatCaps(caps)}`] : []),
    ...(usage.faults ? [`faults      ${formatFaults(usage.faults)}`] : []),
    `run         ${result.run}`,
    ...(result.status === 'interrupted' ? [`resume      policyloop resume ${result.run}`] : []),
    `report      ${result.report}`,
  ]);
  return lines.join('\n');
}

/** Example: `12.30: means of 20 episodes that differ by less may differ by luck`. */
export function floorText({ episodes, floor, lead }: Noise): string {
  if (floor === 0)
    return `none: the best policies ${lead === 0 ? 'get equal returns' : 'differ by the same amount'} in every episode`;
  return `${distinctFormat([floor, lead])(floor)}: means of ${plural(episodes, 'episode')} that differ by less may differ by luck`;
}

/** The floor and the observed lead: `…; the best leads the second best by 3.100, which takes 315 episodes …`. */
export function noiseText(noise: Noise): string {
  const { floor, lead, needed } = noise;
  if (floor === 0) return floorText(noise);
  const comparison = `the best leads the second best by ${distinctFormat([floor, lead])(lead)}`;
  const leadText =
    needed === undefined
      ? 'no policy is ahead'
      : `${comparison}, which ${lead > floor ? 'is more than luck' : `takes ${formatCompact(needed)} episodes to confirm`}`;
  return `${floorText(noise)}; ${leadText}`;
}

export function describeReason(end: Pick<RunResult, 'reason' | 'status'>): string {
  const headline = headlineOf(end);
  const cause = causeOf(end);
  if (cause === undefined) return headline;
  return end.reason?.kind === 'no-proposals' ? `${headline}; first reason: ${cause}` : cause;
}

/** How a run ended, in words to show after its status; may be empty. @param unit plural unit, such as `games` */
export function endText(
  { ended, manifest: { reason }, status }: Pick<RunSummary, 'ended' | 'manifest' | 'status'>,
  unit: string,
): string {
  if (status === 'interrupted') return 'by the user';
  if (reason?.kind === 'iterations') return `after all ${unit}`;
  return ended === status ? '' : ended;
}

/** Why a run failed; undefined if it didn't fail. */
function causeOf({ reason, status }: Pick<RunResult, 'reason' | 'status'>): string | undefined {
  if (status === 'running' || status === 'crashed' || !reason || !('message' in reason)) return undefined;
  if (reason.kind === 'no-proposals') return reason.message;
  return `the ${reason.kind === 'model-error' ? 'model' : 'environment'} failed: ${reason.message}`;
}

export function headlineOf({ reason, status }: Pick<RunResult, 'reason' | 'status'>): string {
  if (status === 'running' || status === 'crashed') return status;
  switch (reason?.kind) {
    case undefined:
      return status;
    case 'iterations':
      return 'finished';
    case 'target':
      return `target ${reason.return} reached`;
    case 'limit':
      return `stopped ${limitText(reason.limit)}`;
    case 'interrupted':
      return 'interrupted';
    case 'no-proposals':
      return `0 proposals accepted${reason.limit === undefined ? '' : ` (stopped ${limitText(reason.limit)})`}`;
    case 'model-error':
    case 'environment-error':
      return 'failed';
  }
}

const candidateText = ({ iteration, candidate }: { iteration: number; candidate: number }) =>
  iteration === 0
    ? `warm-up policy ${candidate + 1}`
    : `iteration ${iteration}${candidate > 0 ? `, candidate ${candidate + 1}` : ''}`;

const shorten = (text: string) => (text.length <= 300 ? text : `${text.slice(0, 299)}…`);

/** Examples: `warm-up policy 4`, `iteration 12`, `iteration 12.3` (third candidate), `iteration 12, revised`. */
export function candidateName(
  place: { readonly iteration: number; readonly candidate: number; readonly purpose?: string },
  config: { readonly candidates: number },
): string {
  if (place.iteration === 0) return `warm-up policy ${place.candidate + 1}`;
  if (place.candidate >= config.candidates) return `iteration ${place.iteration}, revised`;
  return `iteration ${place.iteration}${config.candidates > 1 ? `.${place.candidate + 1}` : ''}`;
}

/** Example: `12 calls, 3 without a reply, 45.1k tokens in (80 % cached), 2k out, cost 0.0123`. */
export function formatUsage(usage: UsageTotals): string {
  const parts = [plural(usage.calls, 'call')];
  if (usage.errors > 0) parts.push(`${usage.errors} without a reply`);
  if (usage.retries > 0) parts.push(`${usage.retries} ${usage.retries === 1 ? 'retry' : 'retries'}`);
  if (usage.promptTokens > 0) {
    const percent = Math.round((100 * usage.cachedTokens) / usage.promptTokens);
    parts.push(
      `${formatCompact(usage.promptTokens)} tokens in${percent > 0 ? ` (${percent} % cached)` : ''}`,
    );
  }
  if (usage.completionTokens > 0) {
    const reasoning = usage.reasoningTokens > 0 ? ` (${formatCompact(usage.reasoningTokens)} reasoning)` : '';
    parts.push(`${formatCompact(usage.completionTokens)} out${reasoning}`);
  }
  if (usage.unreported !== undefined) {
    parts.push(`about ${formatCompact(usage.unreported)} unreported tokens`);
  }
  if (usage.cost !== undefined)
    parts.push(
      `cost ${formatCost(usage.cost)}${usage.listed === undefined ? '' : ` (list price of ${usage.listed}, without discounts)`}`,
    );
  return parts.join(', ');
}

/** Example: `tokens 12.3k/50k, cost 0.0123/2, time 3 min 6 s/2 h`. */
export function formatCaps(caps: readonly LimitUsage[]): string {
  return caps
    .map(({ limit, used, cap }) => {
      const amount = (value: number) =>
        limit.endsWith('minutes') ? formatDuration(60_000 * value) : formatCompact(value);
      return `${limit.replace('minutes', 'time')} ${amount(used)}/${amount(cap)}`;
    })
    .join(', ');
}

/** Example: `3 × rate-limit, 1 × cut`; most frequent first. */
export function formatFaults(faults: Readonly<Record<string, number>>): string {
  return Object.entries(faults)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ');
}
