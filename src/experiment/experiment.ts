/**
 * The outer loop. Warm up with imported and random policies. Then, in each iteration: show the model earlier
 * evaluations, let it propose parameters, evaluate and record them, and run the stages. Finally, confirm the
 * best policy on unused seeds.
 */
import { type BufferEntry, bestEntry } from '../rollout/replay-buffer.js';
import type { CallRecord, UsageTotals } from '../runs/calls.js';
import type { Confirmation, StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import { largest } from '../statistics/descriptive.js';
import { callsOf, type ProposalGroup } from './ask.js';
import { confirmBest, evaluateProposals, warmUp } from './evaluate.js';
import type { Experiment, Stage } from './parts.js';
import { openPipeline } from './propose.js';
import { capsIn, endOf, failureOf, noContribution, statusAfter, warnOfUnusedModel } from './stopping.js';

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
  const { buffer, ledger, log, progress } = experiment;
  emitStart(experiment);
  const { confirmed, reason } = await searchAndConfirm(experiment, stop).catch((error: unknown) => ({
    confirmed: undefined,
    reason: failureOf(error, stop),
  }));
  // A resumed run evaluates an unfinished iteration again.
  const entries = buffer.entries.filter(({ iteration }) => iteration <= progress.completed);
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
  ledger.claim(entries.length);
  return { reason, iterations: progress.completed, best, confirmed, usage: ledger.totals };
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

/** Warms up, then iterates. Returns why the run ends. */
async function search(experiment: Experiment, stop: StopRequests): Promise<StopReason> {
  const pipeline = openPipeline(experiment, stop);
  let unanswered = 0;
  try {
    let end = (await warmUp(experiment, stop)) ?? endOf(experiment, stop);
    while (end === undefined) {
      const iteration = experiment.progress.completed + 1;
      const group = await pipeline.propose(iteration);
      if (group.end !== undefined && callsOf(group).length === 0) return group.end;
      const evaluated = await evaluateProposals(experiment, iteration, group.proposals, stop);
      end = group.end ?? (await runStages(experiment, iteration, evaluated, stop));
      if (end?.kind === 'interrupted') return end;
      await finishIteration(experiment, iteration);
      unanswered = callsOf(group).every(hasFailed) ? unanswered + 1 : 0;
      end ??= unanswered === patience ? lastModelError(group) : endOf(experiment, stop);
    }
    return end;
  } finally {
    await pipeline.close();
  }
}

async function runStages(...run: Parameters<Stage['run']>): Promise<StopReason | undefined> {
  const [experiment, iteration] = run;
  for (const stage of experiment.stages) {
    const end = stage.isDue(iteration) ? await stage.run(...run) : undefined;
    if (end !== undefined) return end;
  }
  return undefined;
}

const hasFailed = ({ outcome }: CallRecord) => outcome.kind === 'error';

/** The stop reason if the model gave no answers, with the message of its last error. */
function lastModelError(group: ProposalGroup): StopReason {
  const outcome = callsOf(group).findLast(hasFailed)?.outcome;
  return {
    kind: 'model-error',
    message: outcome?.kind === 'error' ? outcome.message : "the model didn't answer",
  };
}

/** Completes an iteration, which counts once it is written to disk. */
async function finishIteration(experiment: Experiment, iteration: number): Promise<void> {
  const { buffer, ledger, log, progress } = experiment;
  const first = buffer.entries.findLastIndex((entry) => entry.iteration < iteration) + 1;
  const scores = buffer.entries.slice(first).map(({ score }) => score);
  log.emit({
    kind: 'iteration-finished',
    iteration,
    ...(scores.length > 0 && { score: largest(scores) }),
    ...(buffer.best && { best: buffer.best.score }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await log.commit();
  progress.completed = iteration;
}

function emitStart(experiment: Experiment): void {
  const { buffer, config, earlier, log, model, setting } = experiment;
  const { completed } = experiment.progress;
  log.emit({
    kind: 'run-started',
    run: log.run,
    environment: setting.environment.id,
    model: model.id,
    ...(config.policy?.kind !== 'program' && { parameters: setting.family.parameters.count }),
    iterations: config.iterations,
    ...(completed > 0 && { resumedAt: completed + 1 }),
    ...(buffer.best && { best: buffer.best }),
    ...(completed > 0 && { tally: earlier.tally }),
  });
}

function limitsUsed(experiment: Experiment) {
  const caps = capsIn(experiment);
  return caps.length === 0 ? {} : { caps };
}
