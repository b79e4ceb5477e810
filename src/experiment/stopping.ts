/** Reasons to end a run: a request, the target, the last iteration, a limit, no accepted proposal, or a failure. */

import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { ModelError } from '../models/language-model.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { type LimitName, type LimitUsage, limitField, maxRejections } from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import { rejectionText } from '../runs/failure-text.js';
import type { StopRequests } from '../runs/stop-request.js';
import { smallest } from '../statistics/descriptive.js';
import type { Experiment, RunProgress } from './parts.js';

/** Returns the stop reason if the run ends now; otherwise, claims the next iteration's evaluations. */
export function stopOrClaim(experiment: Experiment, stop: StopRequests): StopReason | undefined {
  const { buffer, config, progress } = experiment;
  const { target } = config;
  if (stop.finish.aborted || stop.abort.aborted) return { kind: 'interrupted' };
  if (target && targetStreak(buffer.entries, target.return, progress.lastIteration) >= target.hold)
    return { kind: 'target', return: target.return };
  if (progress.lastIteration >= config.iterations) return { kind: 'iterations' };
  const limit =
    claimEvaluations(experiment, config.candidates) ??
    (rejectionsLeft(progress) <= 0
      ? 'rejections'
      : limitsLeft(experiment, 'minutes').find(({ left }) => left <= 0)?.limit);
  return limit && { kind: 'limit', limit };
}

/** Number of replies that may still be rejected; infinite once a proposal has been accepted. */
export const rejectionsLeft = ({ isAnyAccepted, rejected }: RunProgress): number =>
  isAnyAccepted ? Number.POSITIVE_INFINITY : maxRejections - rejected;

/** Claims the next `count` evaluations. Returns the limit that they could exceed, if there is one. */
export function claimEvaluations(experiment: Experiment, count: number): LimitName | undefined {
  const limit = limitsLeft(experiment, 'evaluations').find(({ left }) => left < count)?.limit;
  if (limit === undefined) experiment.ledger.claim(experiment.buffer.entries.length + count);
  return limit;
}

/** The run's and the sweep's limit of this kind, with the amount left of each. */
const limitsLeft = (experiment: Experiment, kind: 'evaluations' | 'minutes') =>
  capsIn(experiment).flatMap(({ cap, limit, used }) =>
    limit.endsWith(kind) ? [{ limit, left: cap - used }] : [],
  );

/** Number of evaluations that the limits still allow; infinite without a limit. */
export const evaluationsLeft = (experiment: Experiment): number =>
  smallest(limitsLeft(experiment, 'evaluations').map(({ left }) => left));

/** The limits, with the amount used of each. */
export const capsIn = ({ buffer, clock, ledger }: Experiment): readonly LimitUsage[] =>
  ledger.caps({ evaluations: buffer.entries.length, ms: clock.activeMs() });

/** Number of consecutive iterations, up to the last, in which an evaluation reached `target`. */
export function targetStreak(entries: readonly BufferEntry[], target: number, lastIteration: number): number {
  const hits = entries.filter(({ score, iteration }) => iteration > 0 && score >= target);
  const iterationsAtTarget = new Set(hits.map(({ iteration }) => iteration));
  let streak = 0;
  while (iterationsAtTarget.has(lastIteration - streak)) streak++;
  return streak;
}

const maxTimerMs = 2 ** 31 - 1;

/** The time limit that will be reached first, and a signal that aborts then; undefined without a time limit. */
export function deadlineOf(experiment: Experiment) {
  const [nextLimit] = limitsLeft(experiment, 'minutes').toSorted((a, b) => a.left - b.left);
  if (nextLimit === undefined) return undefined;
  const { limit, left } = nextLimit;
  const leftMs = left * 60_000;
  const timerMs = Math.max(0, Math.min(Math.round(leftMs), maxTimerMs));
  return { limit, leftMs, signal: AbortSignal.timeout(timerMs) };
}

/** The stop reason if no reply came or no proposal was accepted: such a run must not count as completed. */
export const modelFailure = (experiment: Experiment, reason: StopReason): StopReason | undefined =>
  noReplyFailure(experiment, reason) ?? noProposalFailure(experiment, reason);

/** A stop reason if no process ever got a reply, or this one got none by the last iteration. */
function noReplyFailure({ ledger, progress }: Experiment, reason: StopReason): StopReason | undefined {
  const { calls, errors } = ledger.totals;
  const isUnanswered = progress.lastError !== undefined && !progress.isAnswered;
  const isTimeUp = reason.kind === 'limit' && reason.limit.endsWith('minutes');
  if (!(calls > 0 && errors === calls) && !(isUnanswered && reason.kind === 'iterations')) return undefined;
  const message = isTimeUp
    ? `no reply before ${limitField(reason.limit)} was reached`
    : (progress.lastError ?? 'no call was ever answered');
  return { kind: 'model-error', message };
}

/** A stop reason if the model answered, but no proposal was accepted, not even a baseline's. */
function noProposalFailure({ progress }: Experiment, reason: StopReason): StopReason | undefined {
  if (progress.isAnyAccepted || progress.firstRejected === undefined) return undefined;
  return {
    kind: 'no-proposals',
    message: rejectionText(progress.firstRejected),
    ...(reason.kind === 'limit' && { limit: reason.limit }),
  };
}

/** Warns if all of the model's replies were rejected, so only the baselines of a portfolio or relay contributed. */
export function warnOfUnusedModel({ log, progress }: Experiment): void {
  const { firstRejected, isModelAccepted, rejected } = progress;
  if (firstRejected === undefined || isModelAccepted) return;
  log.warn(
    `the language model contributed nothing: ${rejected === 1 ? 'its only reply was' : `all ${rejected} of its replies were`} rejected, and every accepted proposal is a baseline's; first reason: ${rejectionText(firstRejected)}`,
  );
}

/** @throws the error, unless the run was aborted, or the model or the environment failed */
export function failureOf(error: unknown, stop: StopRequests): StopReason {
  if (stop.abort.aborted) return { kind: 'interrupted' };
  if (error instanceof ModelError) return { kind: 'model-error', message: error.message };
  if (!(error instanceof EnvironmentError)) throw error;
  return { kind: 'environment-error', failure: error.kind, message: error.message };
}

/** The status of a run that ends for this reason; only a completed run is confirmed. */
export function statusAfter({ kind }: StopReason): 'completed' | 'interrupted' | 'failed' {
  switch (kind) {
    case 'iterations':
    case 'target':
    case 'limit':
      return 'completed';
    case 'interrupted':
      return 'interrupted';
    case 'no-proposals':
    case 'model-error':
    case 'environment-error':
      return 'failed';
  }
}
