/**
 * The outer loop. Warm up with imported and random policies. Then, in each iteration: show the model earlier
 * evaluations, let it propose parameters, evaluate and record them, and train on them if configured. Finally, confirm
 * the best policy on unused seeds.
 */
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { UsageTotals } from '../runs/calls.js';
import type { Confirmation, StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import { largest } from '../statistics/descriptive.js';
import type { Proposal } from './ask.js';
import { revise } from './critic.js';
import { confirmBest, evaluateProposals, type Iteration, recordEvaluations, warmUp } from './evaluate.js';
import type { Experiment } from './parts.js';
import { openPipeline } from './propose.js';
import {
  capsIn,
  failureOf,
  noContribution,
  RunStopped,
  statusAfter,
  stopIfDone,
  warnOfUnusedModel,
} from './stopping.js';

export interface Outcome {
  readonly reason: StopReason;
  /** Number of complete iterations. */
  readonly iterations: number;
  /** The evaluation with the highest mean return. That mean is biased upwards, as the maximum of noisy means. */
  readonly best: BufferEntry | undefined;
  readonly confirmed: Confirmation | undefined;
  readonly usage: UsageTotals;
}

/**
 * Runs or resumes an experiment until it ends. Failures of the model or the environment end it with a reason.
 * @throws any other error, such as a file system error
 */
export async function runExperiment(experiment: Experiment, stop: StopRequests): Promise<Outcome> {
  const { buffer, commit, emit, ledger } = experiment;
  emitStart(experiment);
  const { confirmed, reason } = await searchAndConfirm(experiment, stop).catch((error: unknown) => ({
    confirmed: undefined,
    reason: failureOf(error, stop),
  }));
  emit({
    kind: 'run-finished',
    reason,
    ...(buffer.best && { best: buffer.best }),
    ...(confirmed && { confirmed }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await commit();
  experiment.shared?.claim(buffer.entries.length);
  return { reason, iterations: experiment.completed, best: buffer.best, confirmed, usage: ledger.totals };
}

async function searchAndConfirm(
  experiment: Experiment,
  stop: StopRequests,
): Promise<Pick<Outcome, 'reason' | 'confirmed'>> {
  const ended = await search(experiment, stop);
  const reason = statusAfter(ended) === 'completed' ? (noContribution(experiment, ended) ?? ended) : ended;
  if (statusAfter(reason) !== 'completed') return { reason, confirmed: undefined };
  warnOfUnusedModel(experiment);
  const confirmed = await confirmBest(experiment, experiment.config.confirmation, stop.abort);
  return { reason: stop.abort.aborted ? { kind: 'interrupted' } : reason, confirmed };
}

/** A run gives up after this many consecutive iterations without an answer from the model. */
const patience = 3;

async function search(experiment: Experiment, stop: StopRequests): Promise<StopReason> {
  const pipeline = openPipeline(experiment, stop);
  let unanswered = 0;
  try {
    await warmUp(experiment, stop);
    for (;;) {
      stopIfDone(experiment, stop);
      const proposed = await pipeline.propose(experiment.completed + 1);
      const evaluated = await evaluateProposals(experiment, proposed, stop);
      const revised = await revise(experiment, evaluated, stop);
      const entries = recordEvaluations(experiment, revised);
      await commit(experiment, revised, entries);
      unanswered = revised.proposals.every(allCallsFailed) ? unanswered + 1 : 0;
      if (unanswered === patience) throw new RunStopped(lastModelError(revised.proposals));
    }
  } catch (error) {
    if (error instanceof RunStopped) return error.reason;
    throw error;
  } finally {
    await pipeline.close();
  }
}

const callsOf = (proposals: readonly Proposal[]) => proposals.flatMap(({ calls }) => calls);

const allCallsFailed = ({ calls }: Proposal) => calls.every(({ outcome }) => outcome.kind === 'error');

/** The stop reason if the model gave no answers, with the message of its last error. */
function lastModelError(proposals: readonly Proposal[]): StopReason {
  const error = callsOf(proposals).findLast(({ outcome }) => outcome.kind === 'error')?.outcome;
  return {
    kind: 'model-error',
    message: error?.kind === 'error' ? error.message : "the model didn't answer",
  };
}

/**
 * Completes an iteration, which counts once it is written to disk.
 * @throws RunStopped if a limit was reached
 */
async function commit(
  experiment: Experiment,
  { limit, number }: Iteration,
  entries: readonly BufferEntry[],
): Promise<void> {
  const { buffer, emit, ledger } = experiment;
  emit({
    kind: 'iteration-finished',
    iteration: number,
    ...(entries.length > 0 && { score: largest(entries.map(({ score }) => score)) }),
    ...(buffer.best && { best: buffer.best.score }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await experiment.commit();
  experiment.completed = number;
  if (limit !== undefined) throw new RunStopped({ kind: 'limit', limit });
}

function emitStart(experiment: Experiment): void {
  const { buffer, completed, config, emit, model, run, setting, tally } = experiment;
  emit({
    kind: 'run-started',
    run,
    environment: setting.environment.id,
    model: model.id,
    ...(config.policy?.kind !== 'program' && { parameters: setting.family.parameters.count }),
    iterations: config.iterations,
    ...(completed > 0 && { resumedAt: completed + 1 }),
    ...(buffer.best && { best: buffer.best }),
    ...(completed > 0 && { tally }),
  });
}

function limitsUsed(experiment: Experiment) {
  const caps = capsIn(experiment);
  return caps.length === 0 ? {} : { caps };
}
