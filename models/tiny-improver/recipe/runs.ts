/** Runs of a search on a task, with the prompts that the model would read in each iteration. */
import process from 'node:process';
import type { RandomGenerator } from '../../../src/base/random/generator.js';
import { callSeed, evaluationSeeds, warmupGenerator } from '../../../src/base/random/seeds.js';
import { parseConfig } from '../../../src/config/load.js';
import type { Environment } from '../../../src/environments/environment.js';
import { Prompter } from '../../../src/experiment/prompter.js';
import { type Assembly, assemble } from '../../../src/experiment/setup/assemble.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import type { ParameterVector } from '../../../src/policies/policy.js';
import { type Encoding, encodingFor } from '../../../src/prompting/notation/encoding.js';
import type { SearchTask } from '../../../src/proposers/baseline.js';
import { evaluate } from '../../../src/rollout/evaluation.js';
import { type BufferEntry, createReplayBuffer } from '../../../src/rollout/replay-buffer.js';
import { emptyRun } from '../../../src/runs/reader.js';

export interface RunPlan {
  readonly seed: number;
  readonly warmup: number;
  readonly iterations: number;
  readonly candidates: number;
  readonly episodes: number;
  readonly maxSteps: number;
  /** The next prompts see the best of the first `seen` candidates; by default, of one. */
  readonly seen?: number | undefined;
  /** Whether linear policies have a bias; by default, they do. */
  readonly bias?: boolean;
}

/** What a proposer is given: the prompt, and the same history as data. */
interface Request {
  readonly prompt: readonly ChatMessage[];
  readonly encoding: Encoding;
  readonly task: SearchTask;
  /** One seed per candidate. */
  readonly seeds: readonly number[];
}

export interface Proposer {
  /** Returns up to one proposal per seed. */
  propose(request: Request): Promise<readonly ParameterVector[]>;
}

/** An iteration. */
interface Step {
  /** Number of evaluations in memory before it. */
  readonly known: number;
  /** The best of them. */
  readonly incumbent: BufferEntry;
  readonly candidates: readonly BufferEntry[];
}

export interface PlayedRun {
  readonly assembly: Assembly;
  /** The evaluations that prompts may show, oldest first. */
  readonly memory: readonly BufferEntry[];
  readonly steps: readonly Step[];
}

export async function playRun(
  environment: Environment,
  plan: RunPlan,
  proposer: Proposer,
): Promise<PlayedRun> {
  const { bias, candidates: count, episodes, iterations, maxSteps, seed, seen = 1, warmup } = plan;
  const config = parseConfig({
    environment: environment.id,
    ...(bias === false && { policy: { kind: 'linear', bias } }),
    model: { provider: 'random' },
    prompts: { set: 'compact' },
    memory: { best: 8, recent: 4 },
    evaluation: { workers: 1 },
  });
  const assembly = await assemble(config, process.env, undefined, { environment });
  const { family } = assembly;
  const buffer = createReplayBuffer();
  const prompter = prompterOf(assembly, buffer);
  const encoding = encodingFor(family, config.prompts.set);
  const episodeSeeds = evaluationSeeds(seed, episodes);
  const evaluated = async (iteration: number, proposals: readonly ParameterVector[]) => {
    const entries: BufferEntry[] = [];
    for (const [candidate, parameters] of proposals.entries()) {
      const setting = { environment, family, maxSteps, record: 'none' } as const;
      const { lengths, returns, score } = await evaluate(setting, parameters, episodeSeeds);
      const source = iteration === 0 ? 'warm-up' : 'proposal';
      entries.push({ iteration, group: iteration, candidate, source, parameters, returns, lengths, score });
    }
    return entries;
  };
  const random: RandomGenerator = warmupGenerator(seed);
  buffer.append(
    await evaluated(
      0,
      Array.from({ length: warmup }, () => family.initial(random)),
    ),
  );
  const steps: Step[] = [];
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const proposals = await proposer.propose({
      prompt: prompter.messages(iteration),
      encoding,
      task: { parameters: family.parameters, history: buffer.entries, warmup },
      seeds: Array.from({ length: count }, (_, candidate) => callSeed(seed, iteration, candidate, 0)),
    });
    const candidates = await evaluated(iteration, proposals);
    steps.push({ known: buffer.entries.length, incumbent: buffer.best!, candidates });
    const [kept] = byScore(candidates.slice(0, seen));
    if (kept !== undefined) buffer.append([kept]);
  }
  return { assembly, memory: buffer.entries, steps };
}

/** Best first; the earlier wins ties. */
export const byScore = (entries: readonly BufferEntry[]): readonly BufferEntry[] =>
  entries.toSorted((a, b) => b.score - a.score);

export const prompterOf = (assembly: Assembly, buffer: ReturnType<typeof createReplayBuffer>): Prompter =>
  new Prompter({ ...assembly, buffer, recorded: emptyRun });
