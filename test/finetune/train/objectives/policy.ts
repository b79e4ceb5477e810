/** A tiny float64 policy for testing updates. */
import type { ExampleResult, TokenSequence } from '../../../../finetune/engine/batch.js';
import type { TrainableSpec } from '../../../../finetune/engine/trainable.js';
import { allTrainedParameters, buildTrainingGraph } from '../../../../finetune/engine/training-graph.js';
import {
  type Gradients,
  openTrainingSession,
  type Parameter,
} from '../../../../finetune/engine/training-session.js';
import { policyObjective } from '../../../../finetune/train/objectives/policy.js';
import type { PolicyContext, RlExample } from '../../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../../finetune/train/objectives/settings.js';
import { type Part, singleFamilies } from '../../../../finetune/train/packing.js';
import { runParts } from '../../../../finetune/train/training-step.js';
import { createGenerator } from '../../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import type { DecoderConfig } from '../../../../src/models/local/weights/decoder-config.js';
import { referenceDirectory } from '../../../models/local/fixture.js';

const whole = readDecoderConfig(referenceDirectory('qwen3-fp32'));

/** One layer of a reference model, with random weights. */
export const tinyConfig: DecoderConfig = { ...whole, vocabulary: 256, layers: whole.layers.slice(0, 1) };
export const tinyTrainable: TrainableSpec = { kind: 'all' };

export const context: PolicyContext = { temperature: 1, reused: true, maxCompletionTokens: 8 };

/** What a user would write. */
export type Written = Parameters<typeof objectiveSchema.parse>[0];

export interface Updated {
  readonly loss: number;
  readonly gradients: Gradients;
  readonly examples: readonly ExampleResult<RlExample>[];
}

/** Loss and gradients of one update for each layout of the same completions. */
export async function updates(
  written: Written,
  given: Partial<PolicyContext>,
  update: readonly RlExample[],
  layouts: readonly (readonly Part<RlExample>[])[] = [[singleFamilies(update)]],
  parameters?: readonly Parameter[],
): Promise<readonly Updated[]> {
  const { objective, inputs } = policyObjective(objectiveSchema.parse(written), { ...context, ...given });
  const graph = { config: tinyConfig, trainable: tinyTrainable, objective };
  const values = parameters ?? randomParameters(allTrainedParameters(graph));
  const session = await openTrainingSession(
    buildTrainingGraph({ ...graph, precision: 'float64', purpose: 'train' }),
    { device: 'cpu', threads: 1, optimize: false },
  );
  const results: Updated[] = [];
  try {
    for (const parts of layouts) results.push(await runParts(session, values, parts, inputs(update, 0)));
  } finally {
    await session.close();
  }
  return results;
}

/** Draws parameters from a normal distribution with standard deviation 0.2. */
export function randomParameters(shapes: ReturnType<typeof allTrainedParameters>): readonly Parameter[] {
  const random = createGenerator(8);
  return shapes.map(({ name, shape }) => ({
    name,
    shape,
    values: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal(0, 0.2)),
  }));
}

/** Completions with everything that objectives need, some of them with environment tokens. */
export function someCompletions(seed: number): readonly (RlExample & TokenSequence)[] {
  const random = createGenerator(seed);
  const ids = (length: number) => Array.from({ length }, () => random.integers(0, 250));
  const near = (length: number, deviation: number) =>
    Array.from({ length }, () => -5 + random.normal(0, deviation));
  return [ids(7), ids(4)].flatMap((promptIds) =>
    [3, 8, 5].map((length) => ({
      promptIds,
      completionIds: ids(length),
      ...(length === 8 && { trained: Array.from({ length }, (_, i) => i < 2 || i > 4) }),
      advantages: random.normal(0, 1),
      oldLogp: near(length, 0.3),
      samplerLogp: near(length, 0.1),
      referenceLogp: near(length, 0.5),
      returns: ids(length).map((id) => id / 100),
      oldValues: near(length, 1),
    })),
  );
}
