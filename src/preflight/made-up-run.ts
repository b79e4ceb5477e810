/** Made-up runs with very long or very short numbers, to estimate how long prompts can become. */
import type { Observation, Space } from '../environments/environment.js';
import type { Assembly } from '../experiment/assemble.js';
import { type ParameterSpec, type ParameterVector, programsOf } from '../policies/policy.js';
import { createHistory } from '../prompting/context/history.js';
import { encodingFor } from '../prompting/notation/encoding.js';
import { formatValue } from '../prompting/notation/grammar.js';
import { historyTokens } from '../prompting/settings.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';

export type Parts = Pick<Assembly, 'config' | 'critic' | 'environment' | 'family' | 'prompts' | 'imported'>;

export type Width = 'wide' | 'narrow';

/** Sample scores: one with many digits and one with few. */
const scores: Readonly<Record<Width, number>> = { wide: -1234.56, narrow: 0 };
const rewards: Readonly<Record<Width, number>> = { wide: 12.3456, narrow: 0 };
/** A sample explanation in a reply. */
const reason = 'The pole falls to the right; a larger weight on its speed should catch it sooner. '.repeat(2);

export interface MadeUpRun {
  readonly entry: (iteration: number) => BufferEntry;
  readonly episode: EpisodeRecord;
  readonly answer: string;
  readonly reply: string;
  readonly room: number;
  readonly entryTokens: number;
}

export function madeUpRun(parts: Parts, width: Width): MadeUpRun {
  const { evaluation, memory, prompts } = parts.config;
  // If racing cuts an evaluation short, the history also shows how many episodes were played: at most all but one.
  const cut = width === 'wide' && evaluation.racing !== undefined;
  const spec = parts.family.parameters;
  const encoding = encodingFor(parts.family, prompts.set);
  const programs = programsOf(parts.family);
  const vector = Array<number>(spec.count).fill(parameterOf(spec, width));
  const known = new Map<number, ParameterVector>();
  const parametersOf = (iteration: number): ParameterVector => {
    if (programs === undefined) return vector;
    const made = known.get(iteration) ?? programs.add(sampleProgram(width, iteration));
    known.set(iteration, made);
    return made;
  };
  const answer = encoding.text(parametersOf(0));
  const episode = episodeOf(parts, width);
  const history = createHistory({ encoding, memory, trajectory: () => episode });
  const entry = (iteration: number): BufferEntry => ({
    iteration,
    group: iteration,
    candidate: 0,
    source: 'proposal',
    parameters: parametersOf(iteration),
    returns: cut ? Array.from({ length: evaluation.episodes - 1 }, () => 0) : [],
    lengths: [],
    score: scores[width],
    ...(cut && { planned: evaluation.episodes }),
  });
  const entryTokens = history.tokens(entry(1));
  return {
    entry,
    episode,
    answer,
    reply: width === 'wide' ? `${answer}\n${reason}` : answer,
    room: Math.floor((memory.tokens ?? historyTokens) / entryTokens),
    entryTokens,
  };
}

/** Returns a long or a short program, as a model might write it. Its structure differs between iterations. */
function sampleProgram(width: Width, iteration: number): string {
  const name = `part${Math.abs(iteration)}${iteration < 0 ? 'a' : ''}`;
  const lines = Array.from(
    { length: width === 'wide' ? 30 : 2 },
    (_, i) => `  memory.${name}x${i} = 0.123 * ${i};`,
  );
  return `function act(observation, memory, constants) {\n${lines.join('\n')}\n  return memory.${name}x0;\n}`;
}

function parameterOf({ low, high, decimals, choices }: ParameterSpec, width: Width): number {
  const length = (value: number) => formatValue(value, decimals).length;
  const values = choices ?? [low, high, ...(low <= 0 && high >= 0 ? [0] : [])];
  const byLength = values.toSorted((a, b) => length(a) - length(b));
  return width === 'wide' ? byLength.at(-1)! : byLength[0]!;
}

/** `wide`: an episode with the longest trajectory that prompts may show, up to 500 steps; `narrow`: one step. */
function episodeOf({ config, environment }: Parts, width: Width): EpisodeRecord {
  const length =
    config.memory.trajectories === 'none' || width === 'narrow' ? 1 : longestEpisode({ config, environment });
  const repeated = <T>(value: T, count: number) => Array.from({ length: count }, () => value);
  return {
    iteration: 0,
    candidate: 0,
    episode: 0,
    seed: 0,
    observations: repeated(stateOf(environment.observationSpace, width), length + 1),
    actions: repeated(stateOf(environment.actionSpace, width), length),
    rewards: repeated(-rewards[width], length),
    terminated: false,
    truncated: true,
  };
}

function stateOf(space: Space, width: Width): Observation {
  switch (space.kind) {
    case 'discrete':
      return (space.start ?? 0) + (width === 'wide' ? space.n - 1 : 0);
    case 'tuple':
      return space.spaces.map(({ n, start = 0 }) => start + (width === 'wide' ? n - 1 : 0));
    case 'text':
      return '';
    case 'box':
      return space.low.map(() => (width === 'wide' ? -12.3456789 : 0));
  }
}

/** `wide`: an oscillating episode in which no statistic is 0; `narrow`: two steps in which nothing happens. */
export function swingingEpisode({ config, environment }: Parts, width: Width): EpisodeRecord {
  const length = width === 'narrow' ? 2 : Math.max(2, longestEpisode({ config, environment }));
  const toAndFro = (space: Space, count: number) =>
    Array.from({ length: count }, (_, i) => opposite(stateOf(space, i % 3 === 0 ? 'narrow' : width), i % 2));
  return {
    ...{ iteration: 0, candidate: 0, episode: 0, seed: 0, terminated: true, truncated: false },
    observations: toAndFro(environment.observationSpace, length + 1),
    actions: toAndFro(environment.actionSpace, length),
    rewards: Array.from({ length }, (_, i) => (i % 2 === 0 ? -1 : 1) * rewards[width]),
  };
}

const longestEpisode = ({ config: { evaluation }, environment }: Pick<Parts, 'config' | 'environment'>) =>
  Math.min(environment.maxSteps ?? evaluation.maxSteps, evaluation.maxSteps, 500);

/** Negates all values of a list if `odd` is 1; returns other states unchanged. */
const opposite = (state: Observation, odd: number): Observation =>
  typeof state === 'object' && odd === 1 ? state.map((value) => -value) : state;
