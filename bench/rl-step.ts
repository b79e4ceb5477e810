/**
 * `node dist/bench/rl-step.js <task>`, where the task is a JSON object: for each line on standard input, makes one
 * update of GRPO, which samples groups of completions and takes one optimizer step. Prints one JSON object per update.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { SampledReply, Sampler } from '../finetune/engine/sampler.js';
import { openLearning, planLearning } from '../finetune/rl/assemble.js';
import type { Episode } from '../finetune/rl/learning/episode.js';
import { learnOnline } from '../finetune/rl/online.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import type { Exchange } from '../src/agents/speaker.js';
import { deriveSeeds } from '../src/base/random/generator.js';
import { parseSettings } from '../src/base/settings/settings.js';

export interface RlStepTime {
  /** Processor time of all threads, like the other times, because wall time depends more on other load. */
  readonly seconds: number;
  readonly samplingSeconds: number;
  /** Time for the loss and its gradients, without the optimizer step. */
  readonly updateSeconds: number;
  readonly sampledTokens: number;
  /** Number of tokens in the trained sequences, including prompts. */
  readonly trainedTokens: number;
  /** Peak resident memory of the process so far, in GB. */
  readonly peakGB: number;
}

/** One update, given to each contender as JSON. */
export interface RlTask {
  /** Model directory, or a GGUF file. */
  readonly model: string;
  readonly method:
    | { readonly kind: 'full' }
    | { readonly kind: 'lora'; readonly compute: 'float32' | 'int8' };
  readonly threads: number;
  readonly groupSize: number;
  /** Maximum tokens per completion. */
  readonly completion: number;
  /** For each group, the user's messages; the model replies to each, and the last reply is trained. */
  readonly games: readonly (readonly string[])[];
}

const { model, method, threads, groupSize, completion, games } = JSON.parse(process.argv[2]!) as RlTask;
const groups = games.length;

const config = parseSettings(rlKind, {
  model,
  method,
  environment: 'bandit',
  objective: { kind: 'grpo' },
  updates: 1e6,
  groups,
  groupSize,
  learningRate: 1e-6,
  threads,
  checkpointEvery: 1e6,
  agent: { maxTokens: completion },
  evaluation: { every: 1e6, episodes: 1 },
  batchTokens: 4096,
});
const output = mkdtempSync(join(tmpdir(), 'policyloop-bench-rl-'));
const learning = await openLearning(
  planLearning({ ...config, environment: { id: 'bandit', options: {} }, output }),
);

/** Makes an episode of one reply; the reward is the share of even token ids. */
function episodeOf({ ids, logp, promptIds }: SampledReply): Episode {
  const sequence = { promptIds, completionIds: ids, trained: ids.map(() => true), samplerLogp: logp };
  const reward = ids.filter((id) => id % 2 === 0).length / ids.length;
  const one = { sequences: [sequence], rewards: [reward], valid: [true], ends: [ids.length] };
  return { ...one, truncated: false, tokens: ids.length };
}

interface Sampled {
  readonly groups: readonly (readonly Episode[])[];
  readonly tokens: number;
}

async function sample(sampler: Sampler, seed: number): Promise<Sampled> {
  const seeds = deriveSeeds(seed, [], groups * groupSize);
  const before = seeds.map((): Exchange<SampledReply>[] => []);
  for (let turn = 0; turn < games[0]!.length; turn++) {
    const conversations = seeds.map((own, game) => ({
      system: '',
      before: before[game]!,
      isComplete: true,
      choices: undefined,
      turn,
      message: games[Math.floor(game / groupSize)]![turn]!,
      seed: own,
      game,
    }));
    for (const [game, reply] of (await sampler.reply(conversations)).entries())
      before[game]!.push({ message: conversations[game]!.message, reply });
  }
  const played = before.map((exchanges) => episodeOf(exchanges.at(-1)!.reply));
  return {
    groups: games.map((_, group) => played.slice(group * groupSize, (group + 1) * groupSize)),
    tokens: before.flat().reduce((sum, { reply }) => sum + reply.ids.length, 0),
  };
}

const asked = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const clock = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
let [began, updating, sampledTokens, trainedTokens, samplingSeconds] = [0, 0, 0, 0, 0];
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
      // Evaluations aren't part of an update.
      measure: async () => ({ values: [0], samples: [] }),
      async play(sampler, _starts, _size, seed) {
        if ((await asked.next()).done === true) {
          rmSync(output, { recursive: true });
          process.exit(0);
        }
        [began, updating] = [clock(), 0];
        const played = await sample(sampler, seed);
        samplingSeconds = clock() - began;
        sampledTokens = played.tokens;
        trainedTokens = played.groups
          .flat()
          .flatMap(({ sequences }) => sequences)
          .reduce((sum, { completionIds, promptIds }) => sum + completionIds.length + promptIds.length, 0);
        return played.groups;
      },
    },
  },
  {
    onEvent(event) {
      if (event.kind !== 'step') return;
      const answer: RlStepTime = {
        seconds: clock() - began,
        samplingSeconds,
        updateSeconds: updating,
        trainedTokens,
        sampledTokens,
        peakGB: process.resourceUsage().maxRSS / 1e6,
      };
      process.stdout.write(`${JSON.stringify(answer)}\n`);
    },
  },
);
await learning.close();
