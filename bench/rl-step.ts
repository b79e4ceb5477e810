/**
 * `node dist/bench/rl-step.js <directory> <threads> <groups> <group size> <completion tokens> <prompts.json>`: for each
 * line on standard input one update of GRPO on all weights: groups of completions are sampled, one step is made. Answers
 * with one JSON object a line.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { SampledReply, Sampler } from '../finetune/engine/sampler.js';
import { openLearning, planLearning } from '../finetune/rl/assemble.js';
import type { Episode } from '../finetune/rl/learning/episode.js';
import { learnOnline } from '../finetune/rl/online.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import { deriveSeeds } from '../src/random/generator.js';
import { parseSettings } from '../src/settings/settings.js';

/** A process's reply after each update. */
export interface RlStepTime {
  /** Processor time of all threads, as below: other work on the machine disturbs it less. */
  readonly seconds: number;
  readonly samplingSeconds: number;
  /** Time for reading, gradients and the optimizer. */
  readonly updateSeconds: number;
  readonly sampledTokens: number;
  /** Prompts included. */
  readonly trainedTokens: number;
}

const [directory = '', threads = 1, groups = 4, size = 8, completion = 64] = process.argv
  .slice(2, 7)
  .map((text, i) => (i === 0 ? text : Number(text))) as [string, ...number[]];
const prompts = JSON.parse(readFileSync(process.argv[7]!, 'utf8')) as readonly string[];

const config = parseSettings(rlKind, {
  ...{ model: directory, method: { kind: 'full' }, environment: 'bandit', objective: { kind: 'grpo' } },
  ...{ updates: 1e6, groups, groupSize: size, learningRate: 1e-6, threads, checkpointEvery: 1e6 },
  ...{ agent: { maxTokens: completion }, evaluation: { every: 1e6, episodes: 1 }, batchTokens: 4096 },
});
const output = mkdtempSync(join(tmpdir(), 'policyloop-bench-rl-'));
const learning = await openLearning(
  planLearning({
    ...config,
    environment: { id: 'bandit', options: {} },
    output,
  }),
);

/** The reward of a reply is its share of even tokens. */
function episodeOf({ ids, logp, promptIds }: SampledReply): Episode {
  const sequence = { promptIds, completionIds: ids, trained: ids.map(() => true), samplerLogp: logp };
  const reward = ids.filter((id) => id % 2 === 0).length / ids.length;
  const one = { sequences: [sequence], rewards: [reward], valid: [true], ends: [ids.length - 1] };
  return { ...one, states: [''], truncated: false, tokens: ids.length };
}

async function sample(sampler: Sampler, seed: number): Promise<readonly (readonly Episode[])[]> {
  const seeds = deriveSeeds(seed, [], groups * size);
  const replies = await sampler.reply(
    seeds.map((own, game) => ({
      ...{ system: '', before: [], whole: true, choices: undefined, turn: 0 },
      ...{ message: prompts[Math.floor(game / size)]!, seed: own, game },
    })),
  );
  const played = replies.map(episodeOf);
  return prompts.slice(0, groups).map((_, group) => played.slice(group * size, (group + 1) * size));
}

const asked = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const clock = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
let [began, updating, trainedTokens, samplingSeconds] = [0, 0, 0, 0];
const training = {
  ...learning.sessions.training,
  async run(...given: Parameters<typeof learning.sessions.training.run>) {
    const started = clock();
    const result = await learning.sessions.training.run(...given);
    updating += clock() - started;
    return result;
  },
};

await learnOnline(
  {
    ...learning,
    sessions: { ...learning.sessions, training },
    task: {
      ...learning.task,
      // Evaluations are no part of an update.
      measure: async () => ({ values: [0], samples: [] }),
      async play(sampler, _starts, _size, seed) {
        if ((await asked.next()).done === true) {
          rmSync(output, { recursive: true });
          process.exit(0);
        }
        [began, updating] = [clock(), 0];
        const played = await sample(sampler, seed);
        samplingSeconds = clock() - began;
        trainedTokens = played
          .flat()
          .flatMap(({ sequences }) => sequences)
          .reduce((sum, { completionIds, promptIds }) => sum + completionIds.length + promptIds.length, 0);
        return played;
      },
    },
  },
  {
    onEvent(event) {
      if (event.kind !== 'step') return;
      const answer: RlStepTime = {
        seconds: clock() - began,
        ...{ samplingSeconds, updateSeconds: updating, trainedTokens, sampledTokens: event.sampledTokens },
      };
      process.stdout.write(`${JSON.stringify(answer)}\n`);
    },
  },
);
await learning.close();
