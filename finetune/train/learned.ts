/** Objectives of `finetune train` in the form the training loop uses. */
import type { InputsOf, TokenExample } from '../engine/batch.js';
import type { Objective } from '../engine/objective.js';
import { referenceModel } from '../engine/trainable.js';
import { buildTrainingGraph } from '../engine/training-graph.js';
import { openTrainingSession } from '../engine/training-session.js';
import { type Compared, dpo, dpoInputs } from './objectives/dpo.js';
import { likelihood } from './objectives/likelihood.js';
import { sft, sftInputs } from './objectives/sft.js';
import { layOut, type Part } from './packing.js';
import type { TrainingRun } from './training-run.js';
import { readParts } from './training-step.js';

export interface Learned {
  readonly objective: Objective;
  /** @param parts all parts that the loss is averaged over */
  inputs(parts: readonly Part[]): InputsOf<TokenExample>;
}

/**
 * Prepares the configured objective. For DPO, the reference model first reads all pairs.
 * @param examples one array per split, in file order; the first example of each pair is the chosen one
 * @throws UserError if memory runs out while the reference reads the pairs
 */
export async function learned(
  run: TrainingRun,
  examples: readonly (readonly TokenExample[])[],
): Promise<Learned> {
  const { dpo: settings } = run.settings;
  if (settings === undefined) return { objective: sft, inputs: (parts) => sftInputs(parts.flat(2)) };
  const compared = await compare(run, examples);
  return { objective: dpo(settings.beta), inputs: (parts) => dpoInputs(parts.flat(), compared) };
}

/** Log-probabilities of all answers under the initial model. */
async function compare(
  { config, trainable, parameters, settings, device, threads }: TrainingRun,
  examples: readonly (readonly TokenExample[])[],
): Promise<ReadonlyMap<TokenExample, Compared>> {
  const graph = { config, trainable: referenceModel(trainable), objective: likelihood(1) } as const;
  const session = await openTrainingSession(
    buildTrainingGraph({ ...graph, precision: 'float32', purpose: 'evaluate' }),
    { device, threads, optimize: true },
  );
  const compared = new Map<TokenExample, Compared>();
  try {
    for (const split of examples) {
      const places = new Map(split.map((example, place) => [example, place]));
      const values = trainable.kind === 'all' ? parameters : [];
      const read = await readParts(session, values, layOut(split, settings), () => ({}));
      for (const { example, logp } of read.examples)
        compared.set(example, { chosen: places.get(example)! % 2 === 0, referenceLogp: logp });
    }
  } finally {
    await session.close();
  }
  return compared;
}
