/** A policy over answers of two tokens from a tiny vocabulary, all of which can be enumerated. */
import { describe, expect, it } from 'vitest';
import type { Objective } from '../../../../finetune/engine/objective.js';
import { trainedParameters } from '../../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../../finetune/engine/training-graph.js';
import { openTrainingSession, type TrainingSession } from '../../../../finetune/engine/training-session.js';
import { rlooAdvantages } from '../../../../finetune/rl/advantages.js';
import { policyObjective } from '../../../../finetune/train/objectives/policy.js';
import type { PolicyContext, RlExample } from '../../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../../finetune/train/objectives/settings.js';
import { likelihood } from '../../../../finetune/train/objectives/terms.js';
import { layOut } from '../../../../finetune/train/packing.js';
import { runParts } from '../../../../finetune/train/training-step.js';
import { createGenerator, type RandomGenerator } from '../../../../src/base/random/generator.js';
import type { DecoderConfig } from '../../../../src/models/local/weights/decoder-config.js';
import { mean, standardDeviation } from '../../../../src/statistics/descriptive.js';
import { relativeDistance } from '../../reference-training.js';
import { randomParameters, tinyConfig, tinyTrainable, type Written } from './policy.js';

const vocabulary = 4;
const config: DecoderConfig = { ...tinyConfig, vocabulary };
const prompt = [1, 3];
const answers = Array.from({ length: vocabulary ** 2 }, (_, i) => [
  Math.floor(i / vocabulary),
  i % vocabulary,
]);
/** Any function of the answer will do. */
const rewardOf = ([a, b]: readonly number[]) => [0.3, -1, 2, 0.5][a!]! + (a === b ? 1.5 : 0) - 0.7 * b!;

const context: PolicyContext = { temperature: 1, reused: false, maxCompletionTokens: 2 };
const parameters = randomParameters(trainedParameters(config, tinyTrainable));
const packing = { packing: 'rows', batchTokens: 4096 } as const;

async function open(objective: Objective, purpose: 'train' | 'evaluate'): Promise<TrainingSession> {
  const graph = { config, trainable: tinyTrainable, objective, precision: 'float64', purpose } as const;
  return openTrainingSession(buildTrainingGraph(graph), { device: 'cpu', threads: 1, optimize: false });
}

const answer = (completionIds: readonly number[], advantages: number): RlExample => ({
  promptIds: prompt,
  completionIds,
  advantages,
});

async function probabilities(): Promise<readonly number[]> {
  const session = await open(likelihood(1), 'evaluate');
  const update = answers.map((ids) => answer(ids, 0));
  const { examples } = await runParts(session, parameters, layOut(update, packing), () => ({}));
  await session.close();
  const found = new Map(examples.map(({ example, logp }) => [example, Math.exp(logp[0]! + logp[1]!)]));
  return update.map((one) => found.get(one)!);
}

async function gradient(written: Written, update: readonly RlExample[]): Promise<Float64Array> {
  const { objective, inputs } = policyObjective(objectiveSchema.parse(written), context);
  const session = await open(objective, 'train');
  const { gradients } = await runParts(session, parameters, layOut(update, packing), inputs(update, 0));
  await session.close();
  return Float64Array.from([...gradients.values()].flatMap((one) => [...one]));
}

/** J(θ) = Σ p(answer)·reward by the forward pass alone, and its slope along a direction by central differences. */
async function slopeOfReturn(direction: Float64Array): Promise<number> {
  const expected = async () =>
    (await probabilities()).reduce((sum, p, i) => sum + p * rewardOf(answers[i]!), 0);
  const moved = async (step: number) => {
    let place = 0;
    for (const { values } of parameters)
      for (let i = 0; i < values.length; i++) values[i] = values[i]! + step * direction[place++]!;
    return expected();
  };
  const h = 1e-4;
  const above = await moved(h);
  const below = await moved(-2 * h);
  await moved(h);
  return (above - below) / (2 * h);
}

const maxImportance = 0;

describe('a policy over two-token answers', async () => {
  const p = await probabilities();
  const average = p.reduce((sum, one, i) => sum + one * rewardOf(answers[i]!), 0);
  /** Weighted by their probabilities, the answers are what sampling gives on average. */
  const enumerated = answers.map((ids, i) => answer(ids, answers.length * p[i]! * (rewardOf(ids) - average)));
  const exact = await gradient({ kind: 'reinforce', maxImportance }, enumerated);

  it('is a probability distribution', () => {
    expect(p.reduce((sum, one) => sum + one)).toBeCloseTo(1, 12);
    expect(Math.max(...p)).toBeLessThan(0.5);
  });

  it('has the gradient of the expected reward when all answers are enumerated', async () => {
    const length = Math.hypot(...exact);
    const downhill = exact.map((slope) => slope / length);
    expect(await slopeOfReturn(downhill)).toBeCloseTo(-length, 6);
    const random = createGenerator(2);
    const direction = exact.map(() => random.normal(0, 1));
    const along = dot(exact, direction);
    expect(await slopeOfReturn(direction)).toBeCloseTo(-along, 5);
  });

  /** Updates of several groups of sampled answers. Each objective's gradient is the exact one times a factor. */
  const updates = 60;
  const groups = 6;
  const cases: readonly (readonly [string, Written, Baseline, number])[] = [
    ['reinforce', { kind: 'reinforce', maxImportance }, 'none', 1],
    // The mean of the others is a baseline that doesn't know the answer.
    ['rloo', { kind: 'rloo', maxImportance }, 'others', 1],
    // A mean over two tokens each.
    ['dapo', { kind: 'grpo', maxImportance }, 'others', 1 / 2],
  ];

  it.each(cases)(
    '%s: sampled gradients match a multiple of the exact gradient within three standard errors',
    async (_, written, baseline, factor) => {
      const random = createGenerator(41);
      const { objective, inputs } = policyObjective(objectiveSchema.parse(written), context);
      const session = await open(objective, 'train');
      // Projections on the exact gradient and on an unrelated direction.
      const noise = createGenerator(5);
      const directions = [exact, exact.map(() => noise.normal(0, 1))];
      const projected: number[][] = [[], []];
      for (let done = 0; done < updates; done++) {
        const batch = Array.from({ length: groups }, () => sampledGroup(p, random, baseline)).flat();
        const { gradients } = await runParts(session, parameters, layOut(batch, packing), inputs(batch, 0));
        const flat = [...gradients.values()].flatMap((one) => [...one]);
        directions.forEach((direction, k) => {
          projected[k]!.push(dot(flat, direction));
        });
      }
      await session.close();
      directions.forEach((direction, k) => {
        const [center, error] = [mean(projected[k]!), standardDeviation(projected[k]!) / Math.sqrt(updates)];
        const expected = factor * dot(exact, direction);
        expect(Math.abs(center - expected)).toBeLessThan(3 * error);
        // The standard error is small enough to distinguish the gradient from 0, and from its double.
        if (k === 0) expect(error).toBeLessThan(expected / 6);
      });
    },
  );

  it('has a different gradient when rewards belong to other answers', async () => {
    const shuffled = answers.map((ids, i) => {
      const other = answers[(i + 5) % answers.length]!;
      return answer(ids, answers.length * p[i]! * (rewardOf(other) - average));
    });
    expect(
      relativeDistance(await gradient({ kind: 'reinforce', maxImportance }, shuffled), exact),
    ).toBeGreaterThan(0.5);
  });
});

type Baseline = 'none' | 'others';

/** Eight answers drawn by their probabilities, and their advantages. */
function sampledGroup(p: readonly number[], random: RandomGenerator, baseline: Baseline) {
  const drawn = Array.from({ length: 8 }, () => answers[drawFrom(p, random.uniform(0, 1))]!);
  const rewards = drawn.map(rewardOf);
  const advantages = baseline === 'none' ? rewards : rlooAdvantages([rewards])[0]!;
  return drawn.map((ids, i) => answer(ids, advantages[i]!));
}

function drawFrom(p: readonly number[], u: number): number {
  let left = u;
  const found = p.findIndex((one) => {
    left -= one;
    return left < 0;
  });
  return found === -1 ? p.length - 1 : found;
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
