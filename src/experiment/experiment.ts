/**
 * The outer loop. Warm up with imported and random policies. Then, in each iteration: show the model earlier
 * evaluations, let it propose parameters, evaluate and record them, and run the stages. Finally, confirm the
 * best policy on unused seeds.
 */

import { callsOf } from '../proposers/proposer.js';
import type { EvaluatedPolicy } from '../rollout/evaluation.js';
import { type BufferEntry, bestEntry } from '../rollout/replay-buffer.js';
import type { CallRecord, UsageTotals } from '../runs/calls.js';
import type { Confirmation, StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import { largest } from '../statistics/descriptive.js';
import { confirmBest, measureNoise } from './confirm.js';
import { evaluateCandidate, recordCandidate, warmUp } from './evaluate.js';
import type { Experiment } from './parts.js';
import { proposeCandidates } from './propose.js';
import { capsIn, failureOf, modelFailure, statusAfter, stopOrClaim, warnOfUnusedModel } from './stopping.js';

export interface Outcome {
  readonly reason: StopReason;
  /** Number of complete iterations. */
  readonly iterations: number;
  /** The evaluation with the highest mean return, which is biased upwards: it is the maximum of noisy means. */
  readonly best: BufferEntry | undefined;
  readonly confirmed: Confirmation | undefined;
  readonly usage: UsageTotals;
}

/**
 * Runs or resumes an experiment until it ends. Failures of the model or the environment end it with a reason.
 * @throws any other error, such as a file system error
 */
export async function runExperiment(experiment: Experiment, stop: StopRequests): Promise<Outcome> {
  const { buffer, ledger, log, progress } = experiment;
  emitStart(experiment);
  const { confirmed, reason } = await searchAndConfirm(experiment, stop).catch((error: unknown) => ({
    confirmed: undefined,
    reason: failureOf(error, stop),
  }));
  // A resumed run evaluates an unfinished iteration again.
  const entries = buffer.entries.filter(({ iteration }) => iteration <= progress.lastIteration);
  const best = bestEntry(entries);
  log.emit({
    kind: 'run-finished',
    reason,
    ...(best && { best }),
    ...(confirmed && { confirmed }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await log.commit();
  // Releases the claim on evaluations that were not made.
  ledger.claim(entries.length);
  return { reason, iterations: progress.lastIteration, best, confirmed, usage: ledger.totals };
}

async function searchAndConfirm(
  experiment: Experiment,
  stop: StopRequests,
): Promise<Pick<Outcome, 'reason' | 'confirmed'>> {
  const end = await search(experiment, stop);
  const reason = statusAfter(end) === 'completed' ? (modelFailure(experiment, end) ?? end) : end;
  if (statusAfter(reason) !== 'completed') return { reason, confirmed: undefined };
  warnOfUnusedModel(experiment);
  const confirmed = await confirmBest(experiment, experiment.config.confirmation, stop.abort);
  return { reason: stop.abort.aborted ? { kind: 'interrupted' } : reason, confirmed };
}

/** A run gives up after this many consecutive iterations without a reply from the model. */
const patience = 3;

/** Warms up, then iterates. Returns the stop reason. */
async function search(experiment: Experiment, stop: StopRequests): Promise<StopReason> {
  let unansweredStreak = 0;
  let end = (await warmUp(experiment, stop)) ?? stopOrClaim(experiment, stop);
  if (!end && experiment.progress.lastIteration === 0) await measureNoise(experiment, stop.abort);
  while (end === undefined) {
    const iteration = experiment.progress.lastIteration + 1;
    const proposed = await proposeCandidates(experiment, iteration, stop);
    const calls = callsOf(proposed);
    if (proposed.end !== undefined && calls.length === 0) return proposed.end;
    const evaluations: EvaluatedPolicy[] = [];
    for (const proposal of proposed.proposals) {
      const evaluation = await evaluateCandidate(experiment, iteration, proposal, stop.abort);
      if (evaluation === undefined) continue;
      recordCandidate(experiment, evaluation);
      evaluations.push(evaluation);
    }
    // A limit may leave candidates without a call; the others still count.
    end = proposed.end;
    for (const stage of experiment.stages)
      if (end === undefined && stage.isDue(iteration))
        end = await stage.run(experiment, iteration, evaluations, stop);
    // When the run is resumed, the iteration is evaluated again; only its calls are reused.
    if (end?.kind === 'interrupted') return end;
    await commit(experiment, iteration);
    // In a portfolio, a baseline's proposal counts as a reply, too.
    unansweredStreak = calls.every(hasFailed) ? unansweredStreak + 1 : 0;
    end ??= unansweredStreak === patience ? lastModelError(calls) : stopOrClaim(experiment, stop);
  }
  return end;
}

const hasFailed = ({ outcome }: CallRecord) => outcome.kind === 'error';

/** The stop reason if the model gave no replies, with the message of its last error. */
function lastModelError(calls: readonly CallRecord[]): StopReason {
  const outcome = calls.findLast(hasFailed)?.outcome;
  return {
    kind: 'model-error',
    message: outcome?.kind === 'error' ? outcome.message : "the model didn't answer",
  };
}

/** Completes an iteration, so that a resumed run doesn't repeat it; its records reach the disk in the background. */
async function commit(experiment: Experiment, iteration: number): Promise<void> {
  const { buffer, ledger, log, progress } = experiment;
  const firstIndex = buffer.entries.findLastIndex((entry) => entry.iteration < iteration) + 1;
  const scores = buffer.entries.slice(firstIndex).map(({ score }) => score);
  log.emit({
    kind: 'iteration-finished',
    iteration,
    ...(scores.length > 0 && { score: largest(scores) }),
    ...(buffer.best && { best: buffer.best.score }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await log.commit();
  progress.lastIteration = iteration;
}

function emitStart(experiment: Experiment): void {
  const { buffer, config, log, proposer, setting, tally } = experiment;
  const { lastIteration } = experiment.progress;
  log.emit({
    kind: 'run-started',
    run: log.run,
    environment: setting.environment.id,
    model: proposer.id,
    ...(config.policy?.kind !== 'program' && { parameters: setting.family.parameters.count }),
    iterations: config.iterations,
    ...(lastIteration > 0 && { resumedAt: lastIteration + 1 }),
    ...(buffer.best && { best: buffer.best }),
    ...(lastIteration > 0 && { tally }),
  });
}

function limitsUsed(experiment: Experiment) {
  const caps = capsIn(experiment);
  return caps.length === 0 ? {} : { caps };
}
