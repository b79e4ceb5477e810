import { createGenerator } from '../../src/base/random/generator.js';
import { type ConfigInput, configSchema, resolveConfig } from '../../src/config/config.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import type { ParameterVector } from '../../src/policies/policy.js';
import { createHistory, selectHistory } from '../../src/prompting/context/history.js';
import type { PromptContext } from '../../src/prompting/context/prompt-context.js';
import { taskContext } from '../../src/prompting/context/task-context.js';
import { encodingFor } from '../../src/prompting/notation/encoding.js';
import { answerFormOf } from '../../src/prompting/notation/grammar.js';
import { loadPromptSet } from '../../src/prompting/templates/prompt-set.js';
import { type EpisodeRecord, rollout } from '../../src/rollout/episode.js';
import { type BufferEntry, bestEntry } from '../../src/rollout/replay-buffer.js';

/** All that prompts are made of, for a config. */
export async function situation(
  input: Omit<ConfigInput, 'model'> & { readonly model?: ConfigInput['model'] },
) {
  const config = resolveConfig(
    configSchema.parse({ model: { provider: 'openai', name: 'test', format: 'text' }, ...input }),
  );
  const environment = await makeEnvironment(config.environment.id, config.environment.options);
  const table = environment.observationSpace.kind === 'discrete';
  const policy =
    config.policy ?? configSchema.shape.policy.unwrap().parse({ kind: table ? 'q-table' : 'linear' });
  const family = createPolicyFamily(policy, environment);
  const { maxSteps } = config.evaluation;
  const prompts = loadPromptSet({
    ...config.prompts,
    environment,
    options: config.environment.options,
    maxSteps,
  });
  const encoding = encodingFor(family, config.prompts.set);
  const told = { ...family, parameters: encoding.spec };
  const form = answerFormOf(config.model, config.prompts);
  const task = taskContext({ config, environment, family: told, prompts }, form);
  const episodes = new Map<BufferEntry, EpisodeRecord>();

  /** Random policies, each played for one episode. */
  function play(count: number, from = 0): readonly BufferEntry[] {
    const random = createGenerator(from + 1);
    return Array.from({ length: count }, (_, i) => {
      const entry = { iteration: from + i, group: from + i, candidate: 0, source: 'proposal' as const };
      return measure(family.initial(random), entry);
    });
  }

  function measure(
    parameters: ParameterVector,
    rest: Pick<BufferEntry, 'iteration' | 'group' | 'candidate' | 'source'>,
  ) {
    const episode = rollout(environment, family.build(parameters), { seed: 7, maxSteps, record: true });
    const entry: BufferEntry = {
      ...rest,
      parameters,
      returns: [episode.return],
      lengths: [episode.length],
      score: episode.return,
    };
    const { terminated, trajectory, truncated } = episode;
    episodes.set(entry, { ...rest, episode: 0, seed: 7, ...trajectory!, terminated, truncated });
    return entry;
  }

  const history = createHistory({
    encoding,
    memory: config.memory,
    trajectory: (entry) => episodes.get(entry),
  });

  /** The context of the prompt for an iteration. */
  function context(iteration: number, entries: readonly BufferEntry[]): PromptContext {
    const { policy: chosen } = config;
    return {
      ...task,
      ...history.context({
        iteration,
        iterations: config.iterations,
        remembered: entries,
        shown: selectHistory(
          entries,
          { ...config.memory, tokens: config.memory.tokens ?? 24_000 },
          history.tokensOf,
        ),
        parent: chosen?.kind === 'program' && chosen.edits ? bestEntry(entries) : undefined,
      }),
    };
  }

  return { config, environment, family, prompts, task, play, context, history };
}
