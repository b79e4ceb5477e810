/** Loads the episodes that `demonstrations` names, from a file, a folder or a run. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Problem, UserError } from '../../base/errors.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { plural } from '../../format/numbers.js';
import { type Demonstration, sampled } from '../../prompting/context/demonstrations.js';
import type { DemonstrationsConfig } from '../../prompting/settings.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import { groupFile, openLogs, readManifest, runFiles } from '../../runs/reader.js';
import { fittingStep, readEpisode, readEpisodes } from './episode-file.js';

const expected =
  'name a JSON file that lists steps as {state, action}, a folder of episode_1.json, …, or the directory of a run';

/** @throws UserError if there are too few episodes, or one doesn't belong to this environment */
export function openDemonstrations(
  config: DemonstrationsConfig,
  environment: EnvironmentSpec,
): readonly Demonstration[] {
  return wholeEpisodes(config, environment).map((whole) => sampled(whole, config.steps));
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
    message: `demonstrations.from holds ${plural(there, 'episode')} only`,
    remedy: `demonstrations.episodes=${there}`,
  });

/** Reads `episode_1.json`, `episode_2.json`, … from a folder. */
function numbered(config: DemonstrationsConfig, environment: EnvironmentSpec): readonly Demonstration[] {
  const files = Array.from({ length: config.episodes }, (_, i) => join(config.from, `episode_${i + 1}.json`));
  const missing = files.findIndex((file) => !existsSync(file));
  if (missing === 0) throw problem(config, { message: 'this folder holds neither episode_1.json nor a run' });
  if (missing > 0) throw tooFew(config, missing);
  return files.map((file) => readEpisode(file, environment));
}

interface Ranked {
  readonly episode: EpisodeRecord;
  readonly total: number;
}

/** The recorded episodes with the highest returns, best first; the earlier one wins ties. */
function bestOfRun(config: DemonstrationsConfig, environment: EnvironmentSpec): readonly Demonstration[] {
  const { episodes: wanted, from } = config;
  const manifest = runAt(config);
  const another = 'name a run of the same environment, or a JSON file';
  if (manifest.play !== undefined) {
    const message = 'these are games of an agent, whose observations are texts';
    throw problem(config, { message, remedy: another });
  }
  if (manifest.environment !== environment.id) {
    const message = `that run is of ${manifest.environment}, this one of ${environment.id}`;
    throw problem(config, { message, remedy: another });
  }
  let best: readonly Ranked[] = [];
  for (const episode of openLogs(from).episodes) {
    const total = returnOf(episode, from);
    if (best.length < wanted || total > best.at(-1)!.total)
      best = [...best, { episode, total }].toSorted((a, b) => b.total - a.total).slice(0, wanted);
  }
  if (best.length === 0) {
    const remedy = 'play it with record: first or all, or name another';
    throw problem(config, { message: 'that run has recorded no episode', remedy });
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

/** @throws UserError at `demonstrations.from` */
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

/** Sum of the rewards. @throws UserError for a line that isn't a complete episode */
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
    message: `${placeOf(episode)} is damaged: its observations, actions and rewards don’t match`,
    remedy: 'name another run, or restore this file from a copy',
  });
}
