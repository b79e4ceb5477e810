/** Shows a run's first prompt, or its prompt after random policies, without calling the model. */

import { type CommandContext, requireCount } from '../base/context.js';
import { evaluationSeeds, warmupGenerator } from '../base/random/seeds.js';
import { plural } from '../base/text/numbers.js';
import { resolvedYaml } from '../config/load.js';
import { Prompter } from '../experiment/prompter.js';
import type { Assembly } from '../experiment/setup/assemble.js';
import { policiesText } from '../policies/policy.js';
import { evaluatePolicy } from '../rollout/evaluation.js';
import { createReplayBuffer } from '../rollout/replay-buffer.js';
import type { RecordedRun } from '../runs/logs.js';
import { emptyRun } from '../runs/reader.js';

export interface DryRunArguments {
  /** Number of random policies to evaluate for the history, starting with the warm-up (default: none). */
  readonly history?: number | undefined;
  readonly json: boolean;
}

export async function dryRun(
  assembly: Assembly,
  args: DryRunArguments,
  context: CommandContext,
): Promise<number> {
  const { config, environment, family, proposer } = assembly;
  const history = requireCount('--history', args.history, 0) ?? 0;
  const run = await evaluateRandom(assembly, history, context.stop.abort);
  const buffer = createReplayBuffer(run.entries);
  const prompter = new Prompter({ ...assembly, buffer, recorded: run });
  const iteration = Math.min(run.iteration + 1, config.iterations);
  const messages = prompter.messages(iteration);
  if (args.json) {
    const { description, parameters } = family;
    const spec = description.kind !== 'program' && { parameters };
    context.print(JSON.stringify({ config, model: proposer.id, ...spec, iteration, messages }));
    return 0;
  }
  context.print(resolvedYaml(config).trimEnd());
  context.print(`\n# ${environment.id}, ${policiesText(family)}, ${proposer.id}`);
  if (run.entries.length > 0)
    context.print(`# prompt of iteration ${iteration}, after ${plural(run.entries.length, 'evaluation')}`);
  for (const { role, content } of messages) context.print(`\n--- ${role} ---\n${content}`);
  return 0;
}

/** Evaluates random policies as a run would: first as the warm-up, then as proposals in iterations. */
async function evaluateRandom(
  { config, environment, family, workers }: Assembly,
  count: number,
  abort: AbortSignal,
): Promise<RecordedRun> {
  const { evaluation, seed, warmup } = config;
  const perIteration = config.candidates;
  const random = warmupGenerator(seed);
  const seeds = evaluationSeeds(seed, evaluation.episodes);
  const setup = { environment, family, maxSteps: evaluation.maxSteps, record: 'first', workers } as const;
  const measurements: Awaited<ReturnType<typeof evaluatePolicy>>[] = [];
  for (let i = 0; i < count; i++) {
    const proposalIndex = i - warmup.policies;
    const iteration = proposalIndex < 0 ? 0 : 1 + Math.floor(proposalIndex / perIteration);
    const candidate = proposalIndex < 0 ? i : proposalIndex % perIteration;
    const source = proposalIndex < 0 ? 'warm-up' : 'proposal';
    const origin = { iteration, group: iteration, candidate, source } as const;
    measurements.push(await evaluatePolicy(setup, family.initial(random), seeds, origin, abort));
  }
  return {
    ...emptyRun,
    entries: measurements.map(({ entry }) => entry),
    episodes: measurements.flatMap(({ episodes }) => episodes),
    iteration: measurements.at(-1)?.entry.iteration ?? 0,
  };
}
