/** The stages of a run: warm up, propose, evaluate, confirm. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Config, ConfirmationConfig } from '../config/config.js';
import { isByControl, languageModelOf } from '../config/model.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import type { ParameterVector } from '../policies/policy.js';
import { tellingOf } from '../prompting/answer/telling.js';
import { remembered } from '../prompting/context/history.js';
import { createGenerator } from '../random/generator.js';
import { callSeed, confirmationSeeds, evaluationSeeds, warmupGenerator } from '../random/seeds.js';
import {
  type EvaluationSetting,
  evaluate,
  isRecorded,
  type Measured,
  measure,
} from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import { type BufferEntry, bestEntries, vectorKey } from '../rollout/replay-buffer.js';
import type { CallRecord, Confirmation } from '../runs/events.js';
import type { Task } from '../search/control.js';
import { movedAway, nearestTried } from '../search/novelty.js';
import { clipped, type Interval } from '../statistics/bootstrap.js';
import { mean, meanInterval95 } from '../statistics/descriptive.js';
import { askGroup } from './ask-group.js';
import type { Experiment, StopRequests } from './parts.js';
import { knownEntries } from './prompter.js';
import type { Answerer, Branch, Proposal, ProposalGroup, ProposalRequest } from './proposal.js';
import { answering } from './proposer.js';

/**
 * An earlier run's policies and random ones first. All are drawn anew, so that a resumed warm-up goes on with the same
 * ones; imported ones are played on this run's episodes, for scores of others can't be compared with its own.
 */
export async function warmUp(experiment: Experiment, stop: StopRequests): Promise<void> {
  const { buffer, commit, completed, config, emit, imported, racing, seed, setting } = experiment;
  if (completed > 0) return;
  const seeds = evaluationSeeds(seed, config.evaluation.episodes);
  const policies = [...imported, ...randomPolicies(experiment)];
  for (const [candidate, parameters] of policies.entries()) {
    if (candidate < buffer.entries.length) continue;
    await experiment.heed();
    if (stop.finish.aborted || stop.abort.aborted) break;
    const source = candidate < imported.length ? 'imported' : 'warm-up';
    const place = { iteration: 0, group: 0, candidate, source } as const;
    const race = raceAgainst(buffer.best, racing, seeds.length);
    const measured = await measure(setting, parameters, seeds, place, stop.abort, race);
    buffer.append([measured.entry]);
    experiment.prompter.remember(measured.episodes);
    emit({ kind: 'warmup-evaluated', ...measured, of: policies.length });
    await yieldToEventLoop();
  }
  await commit();
  checkBound(experiment, buffer.entries);
}

/** The policies that a run begins with; they depend on its seed alone, and none is an imported one. */
export function randomPolicies({
  config,
  imported,
  seed,
  setting,
}: Pick<Experiment, 'config' | 'imported' | 'seed'> & {
  readonly setting: Pick<EvaluationSetting, 'family'>;
}): readonly ParameterVector[] {
  const random = warmupGenerator(seed);
  const drawn = new Set(imported.map(vectorKey));
  return Array.from({ length: config.warmup.policies }, () => {
    let parameters = setting.family.initial(random);
    for (let tries = 0; drawn.has(vectorKey(parameters)) && tries < 100; tries++) {
      parameters = setting.family.initial(random);
    }
    drawn.add(vectorKey(parameters));
    return parameters;
  });
}

/**
 * Asks the model for the candidates of an iteration.
 * @param emitCall told of each call, in their order
 */
export async function proposeCandidates(
  experiment: Experiment,
  iteration: number,
  stop: StopRequests,
  emitCall: (call: CallRecord) => void,
): Promise<ProposalGroup> {
  const { config, prompter } = experiment;
  const known = lastKnown(config, iteration);
  const { formatCorrection, messages } = prompter.prompt(iteration, known);
  const branch = branches(experiment, iteration);
  const behind = iteration - 1 - known;
  return askGroup(experiment, iteration, stop, emitCall, {
    candidates: config.candidates,
    enough: config.screening?.evaluate,
    messages,
    formatCorrection,
    ...(branch && { branch }),
    ...noveltyOf(experiment, iteration),
    ...(behind > 0 && { behind }),
    by: askedFor(experiment, iteration),
    concurrency: concurrencyOf(config),
    isReached: () => experiment.asked.isReached,
    telling: tellingOf(experiment.setting.family.parameters, config.prompts.set),
    isPaid: languageModelOf(config.model) !== undefined,
  });
}

/** The prompt of each candidate, where they go on from parents. */
function branches(
  { config, prompter }: Pick<Experiment, 'config' | 'prompter'>,
  iteration: number,
): ((candidate: number) => Branch) | undefined {
  const known = lastKnown(config, iteration);
  const made = prompter.parents(known).map(({ parameters }, rank): Branch => {
    const prompt = prompter.prompt(iteration, known, rank);
    return config.proposal?.form === 'delta' ? { ...prompt, changes: parameters } : prompt;
  });
  return made.length === 0 ? undefined : (candidate) => made[candidate % made.length]!;
}

/** The last iteration that the prompt of another may know of: those under way with it come later. */
const lastKnown = ({ pipeline = 1 }: Pick<Config, 'pipeline'>, iteration: number) =>
  Math.max(0, iteration - pipeline);

const knownTo = ({ buffer, config }: Pick<Experiment, 'buffer' | 'config'>, iteration: number) =>
  knownEntries(buffer.entries, lastKnown(config, iteration));

/** Who is asked for each candidate: the run's model, its control, which sees what a model's memory would, or a member. */
function askedFor(experiment: Experiment, iteration: number): (candidate: number) => Answerer {
  const { buffer, config, model, seed } = experiment;
  const isPortfolio = 'members' in model;
  const task: Task = {
    ...searched(experiment, knownTo(experiment, iteration)),
    proposed: (iteration - 1) * config.candidates,
    shared: isPortfolio,
  };
  if (!isPortfolio) {
    const answerer = { model: answering(model, task), isControl: model.generate === undefined };
    return () => answerer;
  }
  const members = model.members.map(({ name, proposer }) => ({
    model: answering(proposer, task),
    member: name,
    isFree: isByControl({ member: name }),
    isControl: proposer.generate === undefined,
  }));
  const chosen = model.choose(iteration, {
    candidates: config.candidates,
    seed: (at, candidate) => callSeed(seed, at, candidate, 0),
    entries: buffer.entries,
  });
  return (candidate) => members[chosen[candidate]!]!;
}

/** What a search knows: what the memory holds of these evaluations. */
const searched = (
  { buffer, config, setting }: Experiment,
  entries: readonly BufferEntry[],
): Omit<Task, 'proposed' | 'shared'> => ({
  parameters: setting.family.parameters,
  history: remembered(entries, config.memory),
  warmup: buffer.entries.filter((entry) => entry.iteration === 0).length,
  noisy: config.evaluation.seeds === 'fresh',
});

/** What becomes of proposals that were made before, or nearly so. */
function noveltyOf(experiment: Experiment, iteration: number): Pick<ProposalRequest, 'placed' | 'seen'> {
  const { config, setting } = experiment;
  const { novelty } = config;
  const seen: ProposalRequest['seen'] = (parameters) => {
    const entry = experiment.buffer.find(parameters);
    return entry === undefined || entry.iteration > lastKnown(config, iteration) ? undefined : entry;
  };
  if (novelty === undefined) return { seen };
  const { action, distance: least } = novelty;
  const spec = setting.family.parameters;
  return {
    // What is the same is moved, too.
    ...(action === 'ask' && { seen }),
    placed(parameters, accepted, { seed }) {
      const proposed = accepted.map((one) => ({ parameters: one, iteration, score: undefined }));
      const tried = [...knownTo(experiment, iteration), ...proposed];
      const nearest = nearestTried(parameters, tried, spec);
      if (nearest === undefined || nearest.distance >= least) return undefined;
      const { distance } = nearest;
      if (action === 'jitter') {
        const random = createGenerator(seed, [1]);
        return { kind: 'moved', parameters: movedAway(parameters, tried, spec, least, random), distance };
      }
      const { iteration: at, score } = nearest.tried;
      const failure = { iteration: at, ...(score !== undefined && { score }), distance, least };
      return { kind: 'refused', failure: { kind: 'too-close', ...failure } };
    },
  };
}

function concurrencyOf({ model }: Pick<Config, 'model'>): number {
  const reader = languageModelOf(model);
  return reader && 'concurrency' in reader ? reader.concurrency : 1;
}

/** What was proposed, and for a revision the candidate that it revises. */
type Candidate = Pick<Proposal & { kind: 'accepted' }, 'candidate' | 'parameters'> & {
  readonly revises?: number;
};

/**
 * Plays candidates of an iteration, and records nothing yet.
 * @param all whether the trajectories of all their episodes are wanted, whatever the run records
 */
export async function measureCandidates(
  experiment: Experiment,
  iteration: number,
  candidates: readonly Candidate[],
  abort: AbortSignal,
  all: boolean,
): Promise<readonly Measured[]> {
  const { buffer, config, racing, setting } = experiment;
  const fresh = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(experiment.seed, config.evaluation.episodes, fresh);
  // The same for all candidates, whatever their order.
  const race = raceAgainst(buffer.best, racing, seeds.length);
  const measured: Measured[] = [];
  for (const { candidate, parameters, revises } of candidates) {
    await yieldToEventLoop();
    abort.throwIfAborted();
    const revision = revises !== undefined && { revises };
    const place = { iteration, group: iteration, candidate, source: 'proposal', ...revision } as const;
    const seen: EvaluationSetting = all ? { ...setting, record: 'all' } : setting;
    measured.push(await measure(seen, parameters, seeds, place, abort, race));
  }
  return measured;
}

/** Plays every accepted proposal, or those that the screening chooses; a rejected one is logged and costs no evaluation. */
export async function evaluateProposals(
  experiment: Experiment,
  iteration: number,
  proposals: readonly Proposal[],
  abort: AbortSignal,
  all: boolean,
): Promise<readonly Measured[]> {
  for (const proposal of proposals) {
    if (proposal.kind === 'accepted') continue;
    const { candidate } = proposal;
    experiment.emit({ kind: 'proposal-rejected', iteration, candidate, failures: failuresOf(proposal) });
  }
  const accepted = proposals.filter((proposal) => proposal.kind === 'accepted');
  const chosen = await experiment.screening?.(searched(experiment, experiment.buffer.entries), accepted);
  return measureCandidates(experiment, iteration, chosen ?? accepted, abort, all);
}

/** An iteration is recorded whole or not at all, so recording waits for the last evaluation. */
export function recordEvaluations(
  experiment: Experiment,
  measured: readonly Measured[],
): readonly BufferEntry[] {
  const { buffer, emit, prompter, setting } = experiment;
  for (const { entry, episodes } of measured) {
    const improved = buffer.best === undefined || entry.score > buffer.best.score;
    const kept = episodes.filter(({ episode }) => isRecorded(episode, setting));
    buffer.append([entry]);
    prompter.remember(kept);
    emit({ kind: 'candidate-evaluated', entry, episodes: kept, improved });
  }
  const entries = measured.map(({ entry }) => entry);
  checkBound(experiment, entries);
  return entries;
}

const failuresOf = ({ calls }: Proposal) =>
  calls.flatMap(({ outcome }) => {
    if (outcome.kind === 'rejected') return [outcome.failure.kind];
    return outcome.kind === 'error' ? (['model-error'] as const) : [];
  });

/** Racing relies on the highest return that an episode can have. */
function checkBound({ racing, warn }: Experiment, entries: readonly BufferEntry[]): void {
  const highest = racing?.highest ?? Number.POSITIVE_INFINITY;
  if (entries.every(({ returns }) => returns.every((value) => value <= highest))) return;
  warn(
    `an episode returned more than ${highest}, which evaluation.racing takes for the most there can be: evaluations may be cut short that would have reached the best`,
  );
}

/** Chooses among the best few on fresh seeds, then measures the chosen one on fresh seeds again. */
export async function confirmBest(
  experiment: Pick<Experiment, 'buffer' | 'config' | 'emit' | 'seed' | 'setting'>,
  { candidates, episodes }: ConfirmationConfig,
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const { buffer, config, emit, seed, setting } = experiment;
  const range = returnRange(config.environment, config.evaluation);
  const finalists = bestEntries(buffer.entries, candidates);
  const of = finalists.length === 1 ? 1 : finalists.length + 1;
  let chosen = finalists[0];
  if (chosen === undefined) return undefined;
  emit({ kind: 'confirmation-started', candidates: finalists.length, episodesEach: episodes, of });
  if (finalists.length > 1) {
    let highest = Number.NEGATIVE_INFINITY;
    for (const entry of finalists) {
      await yieldToEventLoop();
      const seeds = confirmationSeeds(seed, 'selection', episodes);
      const confirmation = await confirm({ setting, range }, entry, seeds, 'selection', signal);
      if (confirmation === undefined) return undefined;
      emit({ kind: 'confirmed', confirmation, of });
      if (confirmation.mean > highest) [chosen, highest] = [entry, confirmation.mean];
    }
  }
  const seeds = confirmationSeeds(seed, 'final', episodes);
  const confirmation = await confirm({ setting, range }, chosen, seeds, 'final', signal);
  if (confirmation === undefined) return undefined;
  emit({ kind: 'confirmed', confirmation, of });
  return confirmation;
}

/** Evaluates an entry again on seeds that took no part in choosing it; undefined when it is aborted. */
async function confirm(
  { range, setting }: { readonly setting: EvaluationSetting; readonly range: Interval },
  entry: BufferEntry,
  seeds: readonly number[],
  stage: Confirmation['stage'],
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const evaluation = evaluate({ ...setting, record: 'none' }, entry.parameters, seeds, signal);
  const { returns } = await evaluation.catch((error: unknown) => {
    if (signal.aborted) return { returns: undefined };
    throw error;
  });
  if (returns === undefined) return undefined;
  const centre = mean(returns);
  return {
    stage,
    iteration: entry.iteration,
    candidate: entry.candidate,
    parameters: entry.parameters,
    observed: entry.score,
    mean: centre,
    ci95: clipped(meanInterval95(returns), range, centre),
    episodes: returns.length,
  };
}
