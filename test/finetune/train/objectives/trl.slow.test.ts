import { describe, expect, it } from 'vitest';
import type { TokenExample, TokenSequence } from '../../../../finetune/engine/batch.js';
import type { Objective } from '../../../../finetune/engine/objective.js';
import { buildTrainingGraph } from '../../../../finetune/engine/training-graph.js';
import { openTrainingSession, type Parameter } from '../../../../finetune/engine/training-session.js';
import { generalizedAdvantages } from '../../../../finetune/rl/advantages.js';
import { policyObjective } from '../../../../finetune/train/objectives/policy.js';
import type { RlExample } from '../../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../../finetune/train/objectives/settings.js';
import { type ComparedExample, dpo, dpoInputs } from '../../../../finetune/train/objectives/supervised.js';
import { type Part, singleFamilies } from '../../../../finetune/train/packing.js';
import { runParts } from '../../../../finetune/train/training-step.js';
import { relativeDistance } from '../../reference-training.js';
import { trl, trlAdapter, trlConfig, trlGradient, trlTrainable, trlValueHead } from './trl.js';

type Case = (typeof trl.cases)[number];

async function openTrl(objective: Objective, purpose: 'train' | 'evaluate' = 'train') {
  const graph = {
    config: trlConfig,
    trainable: trlTrainable,
    objective,
    precision: 'float64',
    purpose,
  } as const;
  return openTrainingSession(buildTrainingGraph(graph), { device: 'cpu', threads: 1, optimize: false });
}

function completions(environment: boolean): readonly RlExample[] {
  return trl.completions.map((one) => ({
    promptIds: one.prompt_ids,
    completionIds: one.completion_ids,
    trained: environment ? one.trained : undefined,
    advantages: one.advantage,
    oldLogp: one.old_logp,
    samplerLogp: one.sampler_logp,
    referenceLogp: one.reference_logp,
  }));
}

/** For PPO: with advantages and returns from rewards and values. */
function steps(): readonly RlExample[] {
  return completions(true).map((completion, index) => {
    const one = trl.completions[index]!;
    const steps = (numbers: readonly number[]) => numbers.filter((_, token) => one.trained[token]!);
    const own = { rewards: steps(one.rewards), values: steps(one.old_values), lastValue: one.last_value };
    const found = [...generalizedAdvantages(own, trl)];
    const advantages = one.trained.map((isTrained) => (isTrained ? found.shift()! : 0));
    const returns = advantages.map((advantage, token) => advantage + one.old_values[token]!);
    return { ...completion, advantages, returns, oldValues: one.old_values };
  });
}

/** The completions in their own rows, and in two parts. */
const layouts = <E extends TokenSequence>(update: readonly E[]): readonly (readonly Part<E>[])[] => [
  [singleFamilies(update)],
  [singleFamilies(update.slice(0, 4)), singleFamilies(update.slice(4))],
];

function equalsTrl(
  { name, loss }: Case,
  parameters: readonly Parameter[],
  results: readonly Pick<Awaited<ReturnType<typeof runParts>>, 'loss' | 'gradients'>[],
) {
  for (const own of results) {
    expect(Math.abs(own.loss - loss)).toBeLessThan(1e-9);
    expect(own.gradients.size).toBe(parameters.length);
    for (const [parameter, gradient] of own.gradients)
      expect(relativeDistance(gradient, trlGradient(name, parameter)), parameter).toBeLessThan(1e-8);
  }
}

it('generalised advantage estimates equal those computed from their definition', () => {
  steps().forEach(({ advantages, returns, trained }, index) => {
    const { estimates, returns: expected } = trl.completions[index]!;
    expect(relativeDistance(advantages as readonly number[], estimates)).toBeLessThan(1e-12);
    const counted = (values: ArrayLike<number>) => Array.from(values).filter((_, token) => trained?.[token]);
    expect(relativeDistance(counted(returns!), counted(expected))).toBeLessThan(1e-12);
  });
});

describe('loss and gradients equal those of TRL 1.13, and of torch for PPO', () => {
  it.each(
    trl.cases.filter(({ objective: { kind } }) => kind !== 'dpo').map((one) => [one.name, one] as const),
  )('%s', async (_, one) => {
    const settings = objectiveSchema.parse(one.objective);
    const { temperature, reused } = one;
    const context = { temperature, reused, maxCompletionTokens: 8 };
    const { objective, inputs } = policyObjective(settings, context);
    const update = settings.kind === 'ppo' ? steps() : completions(one.environment);
    const parameters = settings.kind === 'ppo' ? [...trlAdapter, ...trlValueHead] : trlAdapter;
    const session = await openTrl(objective);
    const results = [];
    for (const parts of layouts(update))
      results.push(await runParts(session, parameters, parts, inputs(update, 0)));
    await session.close();
    equalsTrl(one, parameters, results);
  });

  it.each(
    trl.cases.filter(({ objective: { kind } }) => kind === 'dpo').map((one) => [one.name, one] as const),
  )('%s', async (_, one) => {
    const all = completions(false);
    const compared = new Map<TokenExample, ComparedExample>();
    const pairs = [0, 1, 2].map((index) =>
      [all[index]!, all[index + 3]!].map(({ completionIds, referenceLogp }, place): TokenExample => {
        const answer = { promptIds: all[index]!.promptIds, completionIds, weight: 1 };
        compared.set(answer, { isChosen: place === 0, referenceLogp: referenceLogp! });
        return answer;
      }),
    );
    const session = await openTrl(dpo(one.beta!));
    const inputs = dpoInputs(pairs, compared);
    const results = [
      await runParts(session, trlAdapter, [pairs], inputs),
      await runParts(
        session,
        trlAdapter,
        pairs.map((pair) => [pair]),
        inputs,
      ),
    ];
    await session.close();
    equalsTrl(one, trlAdapter, results);
  });
});

it("log-probabilities computed before an update equal TRL's", async () => {
  const { reading } = policyObjective(objectiveSchema.parse({ kind: 'grpo' }), {
    temperature: 1,
    reused: true,
    maxCompletionTokens: 8,
  });
  const session = await openTrl(reading, 'evaluate');
  const update = completions(false);
  const { examples } = await runParts(session, trlAdapter, [singleFamilies(update)], () => ({}));
  await session.close();
  examples.forEach(({ logp, outputs }, index) => {
    expect(relativeDistance(logp, trl.completions[index]!.logp)).toBeLessThan(1e-9);
    expect(outputs.entropy!.every((nats) => nats > 0 && nats <= Math.log(trlConfig.vocabulary))).toBe(true);
  });
});
