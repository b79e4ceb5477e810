/**
 * The outer loop. Warm up with random policies; then, every iteration: show the model the replay buffer, let it
 * propose parameters, evaluate them, record them. At the end the best are confirmed on untouched seeds.
 */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { ModelError } from '../models/language-model.js';
import { remembered } from '../prompting/memory.js';
import { callSeed, evaluationSeeds } from '../random/seeds.js';
import { measure } from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import { type BufferEntry, type RacingTotals, racingTotals } from '../rollout/replay-buffer.js';
import type { CallRecord, Cap, Confirmation, StopReason, UsageTotals } from '../runs/events.js';
import type { Ledger } from './ledger.js';
import type { Experiment, StopRequests } from './parts.js';
import { type Proposal, type ProposalGroup, propose } from './proposal.js';
import { answering } from './proposer.js';
import { confirmBest, warmUp } from './stages.js';

export interface Outcome {
  readonly reason: StopReason;
  /** Complete iterations. */
  readonly iterations: number;
  /** The highest observed mean return: selected on noise. */
  readonly best: BufferEntry | undefined;
  readonly confirmed: Confirmation | undefined;
  readonly usage: UsageTotals;
}

/** Iterations in a row without a single answer from the model, after which going on is pointless. */
const patience = 3;

export async function runExperiment(experiment: Experiment, stop: StopRequests): Promise<Outcome> {
  const { activeMs, buffer, config, emit, commit, ledger, model } = experiment;
  emit({
    kind: 'run-started',
    run: experiment.run,
    environment: experiment.setting.environment.id,
    model: model.id,
    parameters: experiment.setting.family.parameters.count,
    iterations: config.iterations,
    ...(experiment.completed > 0 && { resumedAt: experiment.completed + 1 }),
    ...(buffer.best && { best: buffer.best }),
    ...saved(experiment),
  });

  const improved = await improve(experiment, stop);
  const { completed } = improved;
  let { reason } = improved;
  let confirmed: Confirmation | undefined;
  if (isDone(reason)) {
    try {
      confirmed = await confirmBest(experiment, config.confirmation, stop.abort);
    } catch (error) {
      reason = environmentFailure(error);
    }
    if (stop.abort.aborted) reason = { kind: 'interrupted' };
  }
  emit({
    kind: 'run-finished',
    reason,
    ...(buffer.best && { best: buffer.best }),
    ...(confirmed && { confirmed }),
    ...saved(experiment),
    usage: ledger.totals,
    ...limitsUsed(ledger, activeMs()),
  });
  await commit();
  return { reason, iterations: completed, best: buffer.best, confirmed, usage: ledger.totals };
}

/** What racing has saved up to now; nothing where there is none. */
function saved({ buffer, racing }: Experiment): { readonly racing?: RacingTotals } {
  return racing === undefined ? {} : { racing: racingTotals(buffer.entries) };
}

/** For events: nothing without limits. */
function limitsUsed(ledger: Ledger, elapsedMs: number): { readonly caps?: readonly Cap[] } {
  const caps = ledger.caps(elapsedMs);
  return caps.length === 0 ? {} : { caps };
}

/** Whether nothing is left to do but to confirm. */
function isDone({ kind }: StopReason): boolean {
  return kind === 'iterations' || kind === 'target' || kind === 'limit';
}

async function improve(
  experiment: Experiment,
  stop: StopRequests,
): Promise<{ readonly reason: StopReason; readonly completed: number }> {
  const { activeMs, buffer, emit, commit, ledger } = experiment;
  let { completed } = experiment;
  let silent = 0;
  try {
    await warmUp(experiment, stop);
    checkBound(experiment, buffer.entries);
    for (;;) {
      const reason = reasonToStop(experiment, stop, completed);
      if (reason !== undefined) return { reason, completed };

      const iteration = completed + 1;
      const deadline = deadlineOf(experiment);
      const signal = deadline === undefined ? stop.abort : AbortSignal.any([stop.abort, deadline.signal]);
      const asked = await proposeFor(experiment, iteration, signal).catch((error: unknown) => {
        if (stop.abort.aborted || !deadline?.signal.aborted || !(error instanceof ModelError)) throw error;
        return undefined;
      });
      if (asked === undefined) return { reason: { kind: 'limit', limit: deadline!.limit }, completed };
      const { proposals, limit } = asked;
      const reached = limit && ({ kind: 'limit', limit } as const);
      if (reached && proposals.every(({ calls }) => calls.length === 0))
        return { reason: reached, completed };
      const entries = await evaluateGroup(experiment, iteration, proposals, stop.abort);
      experiment.prompter.finish(proposals, entries);
      emit({
        kind: 'iteration-finished',
        iteration,
        ...(entries.length > 0 && { score: Math.max(...entries.map(({ score }) => score)) }),
        ...(buffer.best && { best: buffer.best.score }),
        usage: ledger.totals,
        ...limitsUsed(ledger, activeMs()),
      });
      await commit();
      completed = iteration;

      if (reached) return { reason: reached, completed };
      silent = proposals.every(isSilent) ? silent + 1 : 0;
      if (silent === patience)
        return { reason: { kind: 'model-error', message: lastError(proposals) }, completed };
    }
  } catch (error) {
    if (stop.abort.aborted) return { reason: { kind: 'interrupted' }, completed };
    if (error instanceof ModelError)
      return { reason: { kind: 'model-error', message: error.message }, completed };
    return { reason: environmentFailure(error), completed };
  }
}

/** @throws what is no failure of an environment outside this program */
function environmentFailure(error: unknown): StopReason {
  if (!(error instanceof EnvironmentError)) throw error;
  return { kind: 'environment-error', failure: error.kind, message: error.message };
}

function reasonToStop(experiment: Experiment, stop: StopRequests, completed: number): StopReason | undefined {
  const { buffer, config } = experiment;
  if (stop.finish.aborted || stop.abort.aborted) return { kind: 'interrupted' };
  const { target } = config;
  if (target !== undefined && heldFor(buffer.entries, target.return, completed) >= target.hold) {
    return { kind: 'target', return: target.return };
  }
  if (completed >= config.iterations) return { kind: 'iterations' };
  const over = minuteLimits(experiment).find(({ leftMs }) => leftMs <= 0);
  return over && { kind: 'limit', limit: over.limit };
}

/** What is left of the limits of wall time. */
function minuteLimits({ activeMs, config: { limits }, otherMs }: Experiment) {
  const usedMs = activeMs();
  const left = (limit: 'minutes' | 'total.minutes', minutes: number | undefined, used: number) =>
    minutes === undefined ? [] : [{ limit, leftMs: minutes * 60_000 - used }];
  return [
    ...left('minutes', limits.minutes, usedMs),
    ...left('total.minutes', limits.total?.minutes, usedMs + otherMs),
  ];
}

/** Timers take no more: about 25 days. */
const longestTimerMs = 2 ** 31 - 1;

/** When the model may be waited for no longer. */
function deadlineOf(experiment: Experiment) {
  const [next] = minuteLimits(experiment).toSorted((a, b) => a.leftMs - b.leftMs);
  if (next === undefined) return undefined;
  const { limit, leftMs } = next;
  return { limit, signal: AbortSignal.timeout(Math.max(0, Math.min(Math.round(leftMs), longestTimerMs))) };
}

/** The number of last iterations in a row whose best candidate reached `target`, in an evaluation of all episodes. */
export function heldFor(entries: readonly BufferEntry[], target: number, lastIteration: number): number {
  const reached = new Set(
    entries
      .filter(({ score, iteration, planned }) => iteration > 0 && score >= target && planned === undefined)
      .map(({ iteration }) => iteration),
  );
  let held = 0;
  while (reached.has(lastIteration - held)) held++;
  return held;
}

function proposeFor(experiment: Experiment, iteration: number, signal: AbortSignal): Promise<ProposalGroup> {
  const { buffer, config, emit, ledger, model, prompter, setting, unfinishedCalls } = experiment;
  const { parameters } = setting.family;
  const unfinished = unfinishedCalls.filter((call) => call.iteration === iteration);
  return propose({
    iteration,
    candidates: config.candidates,
    corrections: config.corrections,
    messages: prompter.messages(iteration),
    parameters,
    seen: (parameters) => buffer.find(parameters),
    seed: (candidate, attempt) => callSeed(experiment.seed, iteration, candidate, attempt),
    formatCorrection: (failure) => prompter.formatCorrection(failure),
    recorded: (candidate, attempt, messages) =>
      unfinished.findLast(
        (call) =>
          call.candidate === candidate &&
          call.attempt === attempt &&
          // A failed call is asked anew, unless it was followed by another try already.
          (call.outcome.kind !== 'error' || unfinished.some((later) => isLater(later, call))) &&
          JSON.stringify(call.messages) === JSON.stringify(messages),
      ),
    model: answering(model, {
      parameters,
      history: remembered(buffer.entries, config.memory),
      warmup: buffer.entries.filter((entry) => entry.iteration === 0).length,
    }),
    concurrency: 'concurrency' in config.model ? config.model.concurrency : 1,
    ledger,
    signal,
    now: experiment.now,
    onCall: (call) => {
      ledger.record(call);
      emit({ kind: 'call-finished', call });
      for (const message of call.completion?.warnings ?? []) warn(experiment, message);
    },
  });
}

const isLater = (later: CallRecord, call: CallRecord) =>
  later.candidate === call.candidate && later.attempt > call.attempt;

/** What a warning says, without its figures. */
export const warningKey = (message: string): string => message.replaceAll(/\d+/g, '#');

/** Says each thing once a run, whatever its figures. */
function warn({ emit, warned }: Experiment, message: string): void {
  const key = warningKey(message);
  if (warned.has(key)) return;
  warned.add(key);
  emit({ kind: 'warning', message });
}

/** What is raced relies on the bound of an episode's return. */
function checkBound(experiment: Experiment, entries: readonly BufferEntry[]): void {
  const highest = experiment.racing?.highest ?? Number.POSITIVE_INFINITY;
  if (entries.every(({ returns }) => returns.every((value) => value <= highest))) return;
  warn(
    experiment,
    `an episode returned more than ${highest}, which evaluation.racing takes for the most there can be: evaluations may be cut short that would have reached the best`,
  );
}

/** Plays every accepted proposal; a rejected one is logged and costs no evaluation. */
async function evaluateGroup(
  experiment: Experiment,
  iteration: number,
  proposals: readonly Proposal[],
  signal: AbortSignal,
): Promise<readonly BufferEntry[]> {
  const { buffer, config, emit, racing, setting } = experiment;
  const fresh = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(experiment.seed, config.evaluation.episodes, fresh);
  // The same for the whole group, whatever its order.
  const race = raceAgainst(buffer.best, racing, seeds.length);
  const measured = [];
  for (const proposal of proposals) {
    if (proposal.kind === 'rejected') {
      const failures = proposal.calls.flatMap(({ outcome }) =>
        outcome.kind === 'rejected'
          ? [outcome.failure.kind]
          : outcome.kind === 'error'
            ? (['model-error'] as const)
            : [],
      );
      emit({ kind: 'proposal-rejected', iteration, candidate: proposal.candidate, failures });
      continue;
    }
    await yieldToEventLoop();
    signal.throwIfAborted();
    measured.push(
      await measure(
        setting,
        proposal.parameters,
        seeds,
        { iteration, group: iteration, candidate: proposal.candidate, source: 'proposal' },
        signal,
        race,
      ),
    );
  }
  // Only now, so that an iteration is recorded whole.
  for (const { entry, episodes } of measured) {
    const improved = buffer.best === undefined || entry.score > buffer.best.score;
    buffer.append([entry]);
    experiment.prompter.remember(entry, episodes);
    emit({ kind: 'candidate-evaluated', entry, episodes, improved });
  }
  const entries = measured.map(({ entry }) => entry);
  checkBound(experiment, entries);
  return entries;
}

const isSilent = ({ calls }: Proposal) => calls.every(({ outcome }) => outcome.kind === 'error');

function lastError(proposals: readonly Proposal[]): string {
  const outcomes = proposals.flatMap(({ calls }) => calls.map(({ outcome }) => outcome));
  const error = outcomes.findLast((outcome) => outcome.kind === 'error');
  return error?.kind === 'error' ? error.message : 'the model gave no answer';
}
