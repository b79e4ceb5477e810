/**
 * The outer loop. Warm up with random policies. Then, in each iteration: show the model the replay buffer,
 * let it propose parameters, evaluate them, train on them if configured, and record everything. Finally,
 * confirm the best policies on unused seeds.
 */

import { type BufferEntry, racingTotals } from '../rollout/replay-buffer.js';
import type { UsageTotals } from '../runs/calls.js';
import type { Adaptation, Confirmation, StopReason } from '../runs/events.js';
import { largest } from '../statistics/descriptive.js';
import { askAhead } from './ask-ahead.js';
import { confirmBest } from './confirm.js';
import { isRevised, revise } from './critic.js';
import { evaluateProposals, recordEvaluations } from './evaluate.js';
import { hearFeedback, isAskedFor } from './feedback.js';
import { learn } from './learning/learn.js';
import type { Experiment, StopRequests } from './parts.js';
import type { Proposal, ProposalGroup } from './proposal.js';
import {
  allCallsFailed,
  capsIn,
  evaluationsLeft,
  failureOf,
  lastModelError,
  noContribution,
  patience,
  reasonToStop,
  statusAfter,
  warnOfUnusedModel,
} from './stopping.js';
import { warmUp } from './warm-up.js';

export interface Outcome {
  readonly reason: StopReason;
  /** Number of complete iterations. */
  readonly iterations: number;
  /** The highest observed mean return, which is biased upwards because it was selected on noise. */
  readonly best: BufferEntry | undefined;
  readonly confirmed: Confirmation | undefined;
  readonly usage: UsageTotals;
}

/**
 * Plays a run to its end from wherever it is. Failures of the model or of a remote environment end it with a reason.
 * @throws any other error, such as one of the file system
 */
export async function runExperiment(experiment: Experiment, stop: StopRequests): Promise<Outcome> {
  const { buffer, commit, emit, ledger } = experiment;
  emitStart(experiment);
  let reason: StopReason;
  let confirmed: Confirmation | undefined;
  try {
    await warmUp(experiment, stop);
    reason = await improve(experiment, stop);
    if (statusAfter(reason) === 'completed') reason = noContribution(experiment, reason) ?? reason;
    if (statusAfter(reason) === 'completed') {
      warnOfUnusedModel(experiment);
      confirmed = await confirmBest(experiment, experiment.config.confirmation, stop.abort);
      if (stop.abort.aborted) reason = { kind: 'interrupted' };
    }
  } catch (error) {
    reason = failureOf(error, stop);
  }
  emit({
    kind: 'run-finished',
    reason,
    ...(buffer.best && { best: buffer.best }),
    ...(confirmed && { confirmed }),
    ...savings(experiment),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await commit();
  return { reason, iterations: experiment.completed, best: buffer.best, confirmed, usage: ledger.totals };
}

/** Iterates until there is a reason to stop. */
async function improve(experiment: Experiment, stop: StopRequests): Promise<StopReason> {
  const asking = askAhead(experiment, stop);
  try {
    return await iterate(experiment, stop, asking.next);
  } finally {
    await asking.close();
  }
}

async function iterate(
  experiment: Experiment,
  stop: StopRequests,
  next: (iteration: number) => Promise<ProposalGroup>,
): Promise<StopReason> {
  let unanswered = 0;
  for (;;) {
    await experiment.heed();
    const reason = reasonToStop(experiment, stop);
    if (reason !== undefined) return reason;
    const iteration = experiment.completed + 1;
    const proposed = await next(iteration);
    if (proposed.unfinished) return { kind: 'interrupted' };
    const { proposals } = proposed;
    let { limit } = proposed;
    for (const call of callsOf(proposals)) experiment.replies.count(call);
    // If a limit is reached before the first call, there is no iteration to record.
    if (limit === undefined || proposals.some(({ calls }) => calls.length > 0)) {
      const isOpen = limit === undefined;
      const seen = isOpen && (isRevised(experiment, iteration) || isAskedFor(experiment, iteration));
      const measured = await evaluateProposals(experiment, iteration, proposals, stop.abort, seen);
      const isCriticised = isOpen && evaluationsLeft(experiment) > measured.length;
      const revised = isCriticised ? await revise(experiment, iteration, measured, stop) : { measured: [] };
      if (revised.unfinished) return { kind: 'interrupted' };
      limit ??= revised.limit;
      const all = [...measured, ...revised.measured];
      const heard =
        limit === undefined ? await hearFeedback(experiment, iteration, all, stop) : { measured: all };
      if (heard.unfinished) return { kind: 'interrupted' };
      limit ??= heard.limit;
      const entries = recordEvaluations(experiment, heard.measured);
      if (revised.revision !== undefined) experiment.emit(revised.revision);
      if (heard.result !== undefined) experiment.emit(heard.result);
      const adapted = await learn(experiment, iteration, callsOf(proposals), entries);
      await record(experiment, iteration, proposals, entries, adapted);
    }
    if (limit !== undefined) return { kind: 'limit', limit };
    unanswered = proposals.every(allCallsFailed) ? unanswered + 1 : 0;
    if (unanswered === patience) return lastModelError(proposals);
  }
}

const callsOf = (proposals: readonly Proposal[]) => proposals.flatMap(({ calls }) => calls);

/** Records an iteration, which is complete once `commit` has written it to disk. */
async function record(
  experiment: Experiment,
  iteration: number,
  proposals: readonly Proposal[],
  entries: readonly BufferEntry[],
  adapted: Adaptation | undefined,
): Promise<void> {
  const { buffer, commit, emit, ledger, prompter } = experiment;
  prompter.finish(proposals, entries);
  emit({
    kind: 'iteration-finished',
    iteration,
    ...(entries.length > 0 && { score: largest(entries.map(({ score }) => score)) }),
    ...(buffer.best && { best: buffer.best.score }),
    ...(adapted && { adapted }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await commit();
  experiment.completed = iteration;
}

function emitStart(experiment: Experiment): void {
  const { buffer, completed, config, emit, model, run, setting, tally } = experiment;
  emit({
    kind: 'run-started',
    run,
    environment: setting.environment.id,
    model: model.id,
    parameters: setting.family.parameters.count,
    iterations: config.iterations,
    ...(completed > 0 && { resumedAt: completed + 1 }),
    ...(buffer.best && { best: buffer.best }),
    ...savings(experiment),
    ...(completed > 0 && { tally }),
  });
}

/** How much racing has saved so far; empty without racing. */
const savings = ({ buffer, racing }: Experiment) =>
  racing === undefined ? {} : { racing: racingTotals(buffer.entries) };

function limitsUsed(experiment: Experiment) {
  const caps = capsIn(experiment);
  return caps.length === 0 ? {} : { caps };
}
