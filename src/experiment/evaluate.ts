/** Evaluates policies: those of the warm-up, and the candidates of an iteration. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { evaluationSeeds, warmupGenerator } from '../base/random/seeds.js';
import type { Config } from '../config/config.js';
import { type ParameterVector, type PolicyFamily, programsOf } from '../policies/policy.js';
import { ProgramFault } from '../policies/program/program.js';
import { rememberedEntries } from '../prompting/context/history.js';
import type { SearchTask } from '../proposers/baseline.js';
import type { Proposal } from '../proposers/proposer.js';
import { type EvaluatedPolicy, evaluatePolicy, shouldRecord } from '../rollout/evaluation.js';
import { type BufferEntry, vectorKey } from '../rollout/replay-buffer.js';
import type { StopReason } from '../runs/events.js';
import { programFailureText } from '../runs/failure-text.js';
import type { StopRequests } from '../runs/stop-request.js';
import { candidateName } from '../runs/summary.js';
import type { Experiment } from './parts.js';
import { claimEvaluations } from './stopping.js';

/**
 * Evaluates a candidate of an iteration, or logs why there is none.
 * @param stage the stage that proposes it, and the number of the candidate that it revises
 * @returns undefined if the proposal or its program failed
 */
export async function evaluateCandidate(
  experiment: Experiment,
  iteration: number,
  proposal: Proposal,
  abort: AbortSignal,
  stage?: Pick<BufferEntry, 'by' | 'revises'>,
): Promise<EvaluatedPolicy | undefined> {
  const { config, log, setting, stages } = experiment;
  const { candidate, parameters, tuned } = proposal;
  const freshIteration = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(config.seed, config.evaluation.episodes, freshIteration);
  const origin = { ...stage, ...(tuned && { tuned }) };
  const place = { iteration, group: iteration, candidate, source: 'proposal', ...origin } as const;
  const reject = (failures: ReturnType<typeof failuresOf>) =>
    log.emit({ kind: 'proposal-rejected', iteration, candidate, failures });
  if (parameters === undefined) {
    reject(failuresOf(proposal));
    return undefined;
  }
  // A stage sees the trajectories of all episodes.
  const record = stages.some((stage) => stage.isDue(iteration)) ? 'all' : setting.record;
  await yieldToEventLoop();
  abort.throwIfAborted();
  try {
    const { entry, episodes } = await evaluatePolicy({ ...setting, record }, parameters, seeds, place, abort);
    return { entry: withProgram(experiment, entry), episodes };
  } catch (error) {
    if (!(error instanceof ProgramFault)) throw error;
    reject(['program']);
    log.warn(`the program of ${candidateName(place, config)} failed: ${programFailureText(error.failure)}`);
    return undefined;
  }
}

/** Adds a candidate's evaluation to the buffer and the log, with only those trajectories that the run records. */
export function recordCandidate(
  { buffer, log, prompter, setting }: Experiment,
  { entry, episodes }: EvaluatedPolicy,
): void {
  const improved = buffer.best === undefined || entry.score > buffer.best.score;
  const recordedEpisodes = episodes.filter(({ episode }) => shouldRecord(episode, setting));
  buffer.append([entry]);
  prompter.keepTrajectories(recordedEpisodes);
  log.emit({ kind: 'candidate-evaluated', entry, episodes: recordedEpisodes, improved });
}

const failuresOf = ({ calls }: Proposal) =>
  calls.flatMap(({ outcome }) => {
    if (outcome.kind === 'rejected') return [outcome.failure.kind];
    return outcome.kind === 'error' ? (['model-error'] as const) : [];
  });

/** A baseline's task; its history has every evaluation, except the worse of a proposal and its revision. */
export function searchTask({ buffer, config, setting: { environment, family } }: Experiment): SearchTask {
  const library = programsOf(family);
  return {
    parameters: family.parameters,
    programs: library && { library, environment },
    history: rememberedEntries(buffer.entries),
    warmup: buffer.entries.filter((entry) => entry.iteration === 0).length,
    noisy: config.evaluation.seeds === 'fresh',
  };
}

/** Adds the source code if the policy is a program. */
function withProgram({ setting }: Experiment, entry: BufferEntry): BufferEntry {
  const programs = programsOf(setting.family);
  return programs === undefined ? entry : { ...entry, program: programs.program(entry.parameters).source };
}

/**
 * Evaluates the policies imported from an earlier run, then random ones. A resumed run draws the same random policies
 * again. Imported policies are evaluated again, because scores from other episodes aren't comparable.
 * @returns the stop reason if a limit doesn't allow the warm-up
 */
export async function warmUp(experiment: Experiment, stop: StopRequests): Promise<StopReason | undefined> {
  const { buffer, config, imported, log, progress, setting } = experiment;
  if (progress.lastIteration > 0) return undefined;
  const seeds = evaluationSeeds(config.seed, config.evaluation.episodes);
  const policies = [...imported, ...randomPolicies(config, setting.family, imported)];
  const limit = claimEvaluations(experiment, policies.length - buffer.entries.length);
  if (limit !== undefined) return { kind: 'limit', limit };
  for (const [candidate, parameters] of policies.entries()) {
    if (candidate < buffer.entries.length) continue;
    if (stop.finish.aborted || stop.abort.aborted) break;
    const source = candidate < imported.length ? 'imported' : 'warm-up';
    const place = { iteration: 0, group: 0, candidate, source } as const;
    const { entry, episodes } = await evaluatePolicy(setting, parameters, seeds, place, stop.abort);
    const evaluation = { entry: withProgram(experiment, entry), episodes };
    experiment.behavior.observe(episodes);
    buffer.append([evaluation.entry]);
    experiment.prompter.keepTrajectories(evaluation.episodes);
    log.emit({ kind: 'warmup-evaluated', ...evaluation, of: policies.length });
    await yieldToEventLoop();
  }
  await log.commit();
  return undefined;
}

/** Draws the random initial policies. Duplicates, including those of imported policies, are redrawn up to 100 times. */
export function randomPolicies(
  { seed, warmup }: Config,
  family: PolicyFamily,
  imported: readonly ParameterVector[],
): readonly ParameterVector[] {
  const random = warmupGenerator(seed);
  const usedKeys = new Set(imported.map(vectorKey));
  return Array.from({ length: warmup.policies }, () => {
    let parameters = family.initial(random);
    for (let tries = 0; usedKeys.has(vectorKey(parameters)) && tries < 100; tries++) {
      parameters = family.initial(random);
    }
    usedKeys.add(vectorKey(parameters));
    return parameters;
  });
}
