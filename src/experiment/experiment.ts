/**
 * The outer loop. Warm up with random policies; then, every iteration: show the model the replay buffer, let it
 * propose parameters, evaluate them, learn from them where it shall, record them. At the end the best are confirmed on untouched seeds.
 */
import { type BufferEntry, racingTotals } from '../rollout/replay-buffer.js';
import type { CallRecord, UsageTotals } from '../runs/calls.js';
import type { Adaptation, Confirmation, StopReason } from '../runs/events.js';
import { confirmBest } from './confirm.js';
import { isRevised, revise } from './critic.js';
import { evaluateProposals, recordEvaluations } from './evaluate.js';
import { hearFeedback, isAskedFor } from './feedback.js';
import { lastKnown } from './known.js';
import { learn } from './learning/learn.js';
import type { Experiment, StopRequests } from './parts.js';
import type { Proposal, ProposalGroup } from './proposal.js';
import { proposeCandidates } from './propose.js';
import {
  endOfSilence,
  failureOf,
  inVain,
  isSilent,
  patience,
  reasonToStop,
  statusAfter,
} from './stopping.js';
import { warmUp } from './warm-up.js';

export interface Outcome {
  readonly reason: StopReason;
  /** Complete iterations. */
  readonly iterations: number;
  /** The highest observed mean return: selected on noise. */
  readonly best: BufferEntry | undefined;
  readonly confirmed: Confirmation | undefined;
  readonly usage: UsageTotals;
}

/**
 * Plays a run from wherever it stands to its end. Failures of the model or of an environment outside this program end it
 * with a reason.
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
    if (statusAfter(reason) === 'completed') reason = inVain(experiment, reason) ?? reason;
    if (statusAfter(reason) === 'completed') {
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

/**
 * Keeps the requests of so many iterations under way (`pipeline`), each of which knows the evaluations up to so many before
 * it: whatever answers first, their results enter in the order of the iterations.
 */
function askAhead(experiment: Experiment, stop: StopRequests) {
  // A recording is not waited for, and holds no answer that its run made nothing of.
  const isReplayed = experiment.config.model.provider === 'replayed';
  const { pipeline = 1 } = isReplayed ? {} : experiment.config;
  const leave = new AbortController();
  const stopping = { ...stop, finish: AbortSignal.any([stop.finish, leave.signal]) };
  const underway = new Map<number, { readonly calls: CallRecord[]; readonly group: Promise<Ended> }>();
  const emitCall = (call: CallRecord) => experiment.emit({ kind: 'call-finished', call });
  const start = (iteration: number) => {
    const calls: CallRecord[] = [];
    const onCall = pipeline === 1 ? emitCall : (call: CallRecord) => calls.push(call);
    const group = proposeCandidates(experiment, iteration, stopping, onCall);
    underway.set(iteration, {
      calls,
      group: group.then(
        (proposed) => ({ proposed }),
        (error) => ({ error }),
      ),
    });
  };
  return {
    /** The proposals of the next iteration; those after it are asked for meanwhile. */
    async next(iteration: number): Promise<ProposalGroup> {
      for (let ahead = iteration; ahead < iteration + pipeline; ahead++) {
        if (underway.has(ahead)) continue;
        if (ahead > iteration && !mayAskAhead(experiment, ahead, ahead - iteration)) break;
        start(ahead);
      }
      const { calls, group } = underway.get(iteration)!;
      const ended = await group;
      underway.delete(iteration);
      for (const call of calls) emitCall(call);
      if ('error' in ended) throw ended.error;
      return ended.proposed;
    },
    /** Asks nothing more; answers that arrive are kept for a run that goes on. */
    async close(): Promise<void> {
      leave.abort();
      await Promise.all([...underway.values()].map(({ group }) => group));
    },
  };
}

/**
 * Whether an iteration may be asked for while so many before it are under way: never where it could take from a limit what
 * they may need for corrections, for then what is evaluated would depend on who answers first.
 */
function mayAskAhead({ config, ledger, prompter }: Experiment, ahead: number, before: number): boolean {
  const { candidates, corrections, critic, feedback, iterations } = config;
  if (ahead > iterations) return false;
  const asked = candidates + [critic, feedback].filter((one) => one !== undefined).length;
  const calls = (before + 1) * asked * (corrections + 1);
  return !ledger.isLimited || ledger.hasRoomFor(prompter.messages(ahead, lastKnown(config, ahead)), calls);
}

type Ended = { readonly proposed: ProposalGroup } | { readonly error: unknown };

async function iterate(
  experiment: Experiment,
  stop: StopRequests,
  next: (iteration: number) => Promise<ProposalGroup>,
): Promise<StopReason> {
  let silent = 0;
  for (;;) {
    await experiment.heed();
    const reason = reasonToStop(experiment, stop);
    if (reason !== undefined) return reason;
    const iteration = experiment.completed + 1;
    const proposed = await next(iteration);
    if (proposed.unfinished) return { kind: 'interrupted' };
    const { proposals } = proposed;
    let { limit } = proposed;
    // A limit may be reached before the first call: then there is no iteration to record.
    if (limit === undefined || proposals.some(({ calls }) => calls.length > 0)) {
      const isOpen = limit === undefined;
      const isCriticised = isOpen && isRevised(experiment, iteration);
      const seen = isCriticised || (isOpen && isAskedFor(experiment, iteration));
      const measured = await evaluateProposals(experiment, iteration, proposals, stop.abort, seen);
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
    silent = proposals.every(isSilent) ? silent + 1 : 0;
    if (silent === patience) return endOfSilence(proposals);
  }
}

const callsOf = (proposals: readonly Proposal[]) => proposals.flatMap(({ calls }) => calls);

/** An iteration is complete once this is on disk. */
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
    ...(entries.length > 0 && { score: Math.max(...entries.map(({ score }) => score)) }),
    ...(buffer.best && { best: buffer.best.score }),
    ...(adapted && { adapted }),
    usage: ledger.totals,
    ...limitsUsed(experiment),
  });
  await commit();
  experiment.completed = iteration;
}

function emitStart(experiment: Experiment): void {
  const { buffer, completed, config, emit, model, run, setting } = experiment;
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
  });
}

/** The savings of racing so far; empty without racing. */
const savings = ({ buffer, racing }: Experiment) =>
  racing === undefined ? {} : { racing: racingTotals(buffer.entries) };

function limitsUsed({ activeMs, ledger }: Experiment) {
  const caps = ledger.caps(activeMs());
  return caps.length === 0 ? {} : { caps };
}
