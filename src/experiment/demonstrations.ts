/** Loads the demonstrated episodes from a file, a folder or a run, or plays them with a program. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, type Problem, UserError } from '../base/errors.js';
import {
  type Action,
  type DiscreteSpace,
  dimensionsOf,
  type EnvironmentSpec,
  type NumericSpace,
  type Space,
} from '../environments/environment.js';
import { plural } from '../format/numbers.js';
import { numericSpace } from '../policies/policy.js';
import {
  type DemonstratedStep,
  type Demonstration,
  recordedDemonstrations,
  sampled,
} from '../prompting/context/demonstrations.js';
import type { DemonstrationsConfig } from '../prompting/settings.js';
import { confirmationSeeds } from '../random/seeds.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { type EvaluationSetting, evaluate } from '../rollout/evaluation.js';
import { groupFile, openLogs, readManifest, runFiles } from '../runs/reader.js';
import { isMapping } from '../settings/schema.js';
import { parseJson } from '../storage/json-depth.js';
import { readRegularFile } from '../storage/regular-file.js';
import { faultsInFile, openProgramFile } from './programs/program-file.js';

/** In bytes; a thousand steps of Humanoid need about a third of this. */
const largestFile = 2 ** 24;

const form = 'a JSON list of {"state": …, "action": …}, one per step';

/**
 * Reads a file that holds either one episode or the demonstrations recorded in a run.
 * @throws UserError naming the file, the problem and, if a step is invalid, the step
 */
function readEpisodes(file: string, environment: EnvironmentSpec): readonly Demonstration[] {
  const content = contentOf(file);
  const isOfRun = Array.isArray(content) && isMapping(content[0]) && 'steps' in content[0];
  return isOfRun ? shownEpisodes(content, file, environment) : [episodeOf(content, file, environment)];
}

const readEpisode = (file: string, environment: EnvironmentSpec): Demonstration =>
  episodeOf(contentOf(file), file, environment);

function episodeOf(content: unknown, file: string, environment: EnvironmentSpec): Demonstration {
  if (!Array.isArray(content) || content.length === 0) {
    const message = Array.isArray(content) ? 'contains no steps' : "isn't a list of steps";
    throw new UserError({ file, message, alternatives: [form] });
  }
  const steps = content.map((step: unknown, t) => {
    const place = { file, step: `step ${t} (counted from 0)` };
    return fittingStep(columnsOf(step, place), environment, place);
  });
  return { length: steps.length, steps };
}

function shownEpisodes(
  content: readonly unknown[],
  file: string,
  environment: EnvironmentSpec,
): readonly Demonstration[] {
  const { data, error } = recordedDemonstrations.safeParse(content);
  if (data === undefined) {
    const { message, path } = error.issues[0]!;
    const found = `is damaged: ${path.join('.')}: ${message}`;
    throw new UserError({ file, message: found, remedy: 'restore it from a copy' });
  }
  for (const [i, { steps }] of data.entries())
    for (const [t, step] of steps.entries())
      fittingStep(step, environment, { file, step: `episode ${i}, step ${t} (counted from 0)` });
  return data;
}

function contentOf(file: string): unknown {
  try {
    return parseJson(readRegularFile(file, largestFile).toString('utf8'));
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (!(error instanceof SyntaxError))
      throw new UserError({ file, message: `can't be read: ${messageOf(error)}` });
    throw new UserError({
      file,
      message: `is not valid JSON: ${messageOf(error)}`,
      alternatives: [form],
      remedy: 'correct the syntax (JSON has no NaN, Infinity or comments); to use a run, give its directory',
    });
  }
}

interface StepPlace {
  readonly file: string;
  readonly step: string;
}

const known = ['state', 'observation', 'action'];

/** Reads a step's action and observation; `state` is an alias for `observation`. */
function columnsOf(step: unknown, { file, step: name }: StepPlace): Record<keyof DemonstratedStep, unknown> {
  const wrong = (more: Pick<Problem, 'message' | 'value'>) =>
    new UserError({ file, ...more, alternatives: ['{"state": …, "action": …}'] });
  if (!isMapping(step)) throw wrong({ message: `${name} isn't an object`, value: step });
  const unknown = Object.keys(step).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong({ message: `${name} has an unknown key`, value: unknown });
  const { action, observation, state } = step;
  if (observation !== undefined && state !== undefined)
    throw wrong({ message: `${name} has both state and observation, which mean the same thing` });
  return { observation: observation ?? state, action };
}

/** @throws UserError if the observation or the action doesn't belong to its space */
function fittingStep(
  { action, observation }: Readonly<Record<keyof DemonstratedStep, unknown>>,
  { actionSpace, id, observationSpace }: EnvironmentSpec,
  { file, step }: StepPlace,
): DemonstratedStep {
  const fitting = (name: string, value: unknown, any: Space) => {
    const space = numericSpace(any, id);
    const member = memberOf(space, value);
    if (member !== undefined) return member;
    throw new UserError({
      file,
      ...(value === undefined
        ? { message: `${step} has no ${name}`, remedy: 'add it' }
        : {
            message: `${step}: invalid ${name} for ${id}`,
            value,
            remedy: 'use demonstrations from this environment',
          }),
      alternatives: [membersOf(space)],
    });
  };
  return {
    observation: fitting('state', observation, observationSpace),
    action: fitting('action', action, actionSpace),
  };
}

/** Returns the value if it fits the space. Ignores the bounds of a box, and unwraps a list of one integer. */
function memberOf(space: NumericSpace, value: unknown): Action | undefined {
  if (space.kind === 'discrete') {
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    return isWithin(single, space) ? single : undefined;
  }
  if (!Array.isArray(value) || value.length !== dimensionsOf(space)) return undefined;
  const isMember =
    space.kind === 'box'
      ? value.every(Number.isFinite)
      : value.every((part, i) => isWithin(part, space.spaces[i]!));
  return isMember ? (value as number[]) : undefined;
}

const isWithin = (value: unknown, { n, start = 0 }: DiscreteSpace): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= start && value < start + n;

function membersOf(space: NumericSpace): string {
  const range = ({ n, start = 0 }: DiscreteSpace) => `${start} to ${start + n - 1}`;
  switch (space.kind) {
    case 'discrete':
      return `an integer from ${range(space)}`;
    case 'tuple':
      return `a list of integers, one from each range: ${space.spaces.map(range).join(', ')}`;
    case 'box':
      return `a list of ${plural(space.low.length, 'number')}`;
  }
}

const expected =
  'use a JSON file of steps ({state, action}), a folder of such files (episode_1.json, …), a run directory, or a program (.js file)';

/** @throws UserError if episodes are missing, invalid or from a different environment */
export function openDemonstrations(
  config: DemonstrationsConfig,
  environment: EnvironmentSpec,
): readonly Demonstration[] {
  return wholeEpisodes(config, environment).map((whole) => sampled(whole, config.steps));
}

/**
 * Plays episodes with a program file, on seeds that the run's evaluations don't use.
 * @throws UserError if the program fails
 */
export async function playDemonstrations(
  { episodes, from, steps }: DemonstrationsConfig,
  environment: EvaluationSetting['environment'],
  { maxSteps, seed }: { readonly maxSteps: number; readonly seed: number },
): Promise<readonly Demonstration[]> {
  numericSpace(environment.observationSpace, environment.id);
  const { family, parameters } = await openProgramFile(from, environment);
  const seeds = confirmationSeeds(seed, 'inspection', episodes);
  const setting = { environment, family, maxSteps, record: 'all' } as const;
  const played = await faultsInFile(from, () => evaluate(setting, parameters, seeds));
  return played.episodes.map(({ actions, observations }, i) => {
    const whole = actions.map((action, t) => ({ observation: observations[t]!, action }));
    return sampled({ return: played.returns[i], length: whole.length, steps: whole }, steps);
  });
}

function wholeEpisodes(config: DemonstrationsConfig, environment: EnvironmentSpec): readonly Demonstration[] {
  const { episodes, from } = config;
  const stats = statSync(from, { throwIfNoEntry: false });
  if (stats === undefined) throw problem(config, { message: 'there is no such file or folder' });
  if (!stats.isDirectory()) {
    const all = readEpisodes(from, environment);
    if (all.length < episodes) throw tooFew(config, all.length);
    return all.slice(0, episodes);
  }
  const isRun = [runFiles.manifest, groupFile].some((file) => existsSync(join(from, file)));
  return isRun ? bestOfRun(config, environment) : numbered(config, environment);
}

const problem = ({ from }: DemonstrationsConfig, more: Pick<Problem, 'message' | 'remedy'>): UserError =>
  new UserError({ field: 'demonstrations.from', value: from, remedy: expected, ...more });

const tooFew = ({ episodes }: DemonstrationsConfig, there: number): UserError =>
  new UserError({
    field: 'demonstrations.episodes',
    value: episodes,
    message: `demonstrations.from has only ${plural(there, 'episode')}`,
    remedy: `set demonstrations.episodes=${there}`,
  });

/** Reads `episode_1.json`, `episode_2.json`, … from a folder. */
function numbered(config: DemonstrationsConfig, environment: EnvironmentSpec): readonly Demonstration[] {
  const files = Array.from({ length: config.episodes }, (_, i) => join(config.from, `episode_${i + 1}.json`));
  const missing = files.findIndex((file) => !existsSync(file));
  if (missing === 0)
    throw problem(config, { message: 'this folder contains neither episode_1.json nor a run' });
  if (missing > 0) throw tooFew(config, missing);
  return files.map((file) => readEpisode(file, environment));
}

interface Ranked {
  readonly episode: EpisodeRecord;
  readonly total: number;
}

/** The recorded episodes with the highest returns, best first; if tied, the earlier comes first. */
function bestOfRun(config: DemonstrationsConfig, environment: EnvironmentSpec): readonly Demonstration[] {
  const { episodes: wanted, from } = config;
  const manifest = runAt(config);
  const another = 'choose a run with the same environment, or a JSON file';
  if (manifest.play !== undefined) {
    const message = "that run's observations are text, because an agent played it";
    throw problem(config, { message, remedy: another });
  }
  if (manifest.environment !== environment.id) {
    const message = `that run's environment is ${manifest.environment}, but this one's is ${environment.id}`;
    throw problem(config, { message, remedy: another });
  }
  let best: readonly Ranked[] = [];
  for (const episode of openLogs(from).episodes) {
    const total = returnOf(episode, from);
    if (best.length < wanted || total > best.at(-1)!.total)
      best = [...best, { episode, total }].toSorted((a, b) => b.total - a.total).slice(0, wanted);
  }
  if (best.length === 0) {
    const remedy = 'repeat that run with record=first or record=all, or choose another run';
    throw problem(config, { message: 'that run recorded no episodes', remedy });
  }
  if (best.length < wanted) throw tooFew(config, best.length);
  return best.map(({ episode, total }) => {
    const { actions, observations } = episode;
    const steps = actions.map((action, t) =>
      fittingStep({ observation: observations[t], action }, environment, {
        file: join(from, runFiles.episodes),
        step: `${placeOf(episode)}, step ${t}`,
      }),
    );
    return { return: total, length: steps.length, steps };
  });
}

function runAt(config: DemonstrationsConfig) {
  try {
    return readManifest(config.from);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, remedy } = error.problems[0]!;
    throw problem(config, { message, ...(remedy !== undefined && { remedy }) });
  }
}

const placeOf = ({ candidate, episode, iteration }: EpisodeRecord) =>
  `iteration ${iteration}, candidate ${candidate}, episode ${episode}`;

/** Returns the sum of the rewards. @throws UserError if the episode is incomplete */
function returnOf(episode: EpisodeRecord, run: string): number {
  const { actions, observations, rewards }: { readonly [key in keyof EpisodeRecord]?: unknown } = episode;
  const isWhole =
    Array.isArray(actions) &&
    Array.isArray(observations) &&
    Array.isArray(rewards) &&
    rewards.every(Number.isFinite) &&
    actions.length > 0 &&
    actions.length === rewards.length &&
    actions.length < observations.length;
  if (isWhole) return episode.rewards.reduce((sum, reward) => sum + reward, 0);
  throw new UserError({
    file: join(run, runFiles.episodes),
    message: `${placeOf(episode)} is damaged: observations, actions or rewards are missing or invalid`,
    remedy: 'choose another run, or restore this file from a copy',
  });
}
