/** Tokens chosen from an allowed set: log-probabilities and entropies are those within the set. */
import { describe, expect, it } from 'vitest';
import type { Objective } from '../../../../finetune/engine/objective.js';
import { trainedParameters } from '../../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../../finetune/engine/training-graph.js';
import { openTrainingSession } from '../../../../finetune/engine/training-session.js';
import type { RlExample } from '../../../../finetune/train/objectives/sampled.js';
import { likelihood } from '../../../../finetune/train/objectives/terms.js';
import { singleFamilies } from '../../../../finetune/train/packing.js';
import { runParts } from '../../../../finetune/train/training-step.js';
import { randomParameters, someCompletions, tinyConfig, tinyTrainable, updates } from './policy.js';

const parameters = randomParameters(trainedParameters(tinyConfig, tinyTrainable));
const all = Array.from({ length: tinyConfig.vocabulary }, (_, id) => id);

/** The first token of each is chosen from a few ids, including 0, and the second from all; the third has no alternative. */
const update = someCompletions(4).map(
  (one): RlExample => ({
    ...one,
    allowed: one.completionIds.map((id, i) => [[0, 9, id], null, [id]][i] ?? null),
  }),
);

async function read(objective: Objective, examples: readonly RlExample[]) {
  const graph = { config: tinyConfig, trainable: tinyTrainable, objective, precision: 'float64' } as const;
  const session = await openTrainingSession(buildTrainingGraph({ ...graph, purpose: 'evaluate' }), {
    device: 'cpu',
    threads: 1,
    optimize: false,
  });
  const found = await runParts(session, parameters, [singleFamilies(examples)], () => ({}));
  await session.close();
  return found.examples;
}

describe('tokens sampled from an allowed set', () => {
  it('have log-probabilities and entropies within that set, but free tokens have them over the whole vocabulary', async () => {
    const [constrained, free] = [
      await read({ ...likelihood(1), constrained: true }, update),
      await read(likelihood(1), update),
    ];
    const first = update[0]!;
    // Log-probabilities of each id as the first token.
    const everywhere = await read(
      likelihood(1),
      all.map((id) => ({ ...first, completionIds: [id], trained: [true] })),
    );
    const p = everywhere.map(({ logp }) => Math.exp(logp[0]!));
    const among = first.allowed![0]!.map((id) => p[id]!);
    const total = among.reduce((sum, one) => sum + one);
    const shares = among.map((one) => one / total);
    expect(constrained[0]!.logp[0]).toBeCloseTo(Math.log(shares.at(-1)!), 9);
    expect(constrained[0]!.outputs.entropy![0]).toBeCloseTo(
      -shares.reduce((sum, share) => sum + share * Math.log(share), 0),
      9,
    );
    for (const [i, { logp, outputs, example }] of constrained.entries()) {
      expect(logp[0]).toBeGreaterThan(free[i]!.logp[0]!);
      expect(logp[1]).toBe(free[i]!.logp[1]);
      expect(outputs.entropy![1]).toBe(free[i]!.outputs.entropy![1]);
      if (example.trained?.[2] !== false) {
        expect(logp[2]).toBe(0);
        expect(outputs.entropy![2]).toBeCloseTo(0, 12);
      }
    }
  });

  it('can be absent, and log-probabilities are then those of an unconstrained graph', async () => {
    const plain = update.map(({ allowed: _, ...one }) => one);
    const [constrained, free] = [
      await read({ ...likelihood(1), constrained: true }, plain),
      await read(likelihood(1), plain),
    ];
    expect(constrained.map(({ logp }) => logp)).toEqual(free.map(({ logp }) => logp));
  });

  it('have gradients that match central differences of the loss, entropy included', async () => {
    const own = parameters.map(({ values, ...one }) => ({ ...one, values: values.slice() }));
    const learned = async () => {
      const written = { kind: 'reinforce', entropy: 0.3, maxImportance: 0 };
      const [updated] = await updates(written, { constrained: true }, update, undefined, own);
      return updated!;
    };
    const { gradients } = await learned();
    for (const { name, values } of own.filter((one) => /q_proj|lm_head/.test(one.name))) {
      const slopes = [...gradients.get(name)!];
      const place = slopes.reduce(
        (best, slope, i) => (Math.abs(slope) > Math.abs(slopes[best]!) ? i : best),
        0,
      );
      const middle = values[place]!;
      const lossAt = async (x: number) => {
        values[place] = x;
        return (await learned()).loss;
      };
      const slope = ((await lossAt(middle + 1e-5)) - (await lossAt(middle - 1e-5))) / 2e-5;
      values[place] = middle;
      expect(slopes[place]! / slope).toBeCloseTo(1, 5);
    }
  });
});
