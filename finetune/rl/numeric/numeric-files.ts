/** Files of a numeric policy's training run: the checkpoint and the trained policy. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { readSafetensors, readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { replaceFile } from '../../../src/storage/files.js';
import { tensorOf, writeSafetensors } from '../../engine/safetensors-writer.js';
import type { LearnerState } from './learner.js';
import type { NumericConfig } from './numeric-config.js';

export const numericFiles = { checkpoint: trainingFiles.checkpoint, policy: 'policy' } as const;

/** The weights of the best evaluation, with the observation moments at that point. */
export interface BestPolicy {
  readonly step: number;
  readonly meanReturn: number;
  readonly theta: Float64Array;
  readonly observed: LearnerState['observed'];
}

const progressShape = z.object({
  identity: z.string(),
  ...{ updates: z.int(), episodes: z.int(), steps: z.int(), evaluated: z.int() },
  ...{ adamSteps: z.int(), observed: z.int() },
  best: z.object({ step: z.int(), meanReturn: z.number(), observed: z.int() }).nullable(),
});

const vector = (name: string, values: Float64Array) => tensorOf({ name, shape: [values.length] }, values);

export function writeNumericCheckpoint(
  file: string,
  state: LearnerState,
  best: BestPolicy | undefined,
  identity: string,
): void {
  const { updates, episodes, steps, evaluated, adamSteps, moments, valueMoments, observed } = state;
  const progress: z.output<typeof progressShape> = {
    ...{ identity, updates, episodes, steps, evaluated, adamSteps, observed: observed.count },
    best: best ? { step: best.step, meanReturn: best.meanReturn, observed: best.observed.count } : null,
  };
  writeSafetensors(
    file,
    [
      vector('policy', state.theta),
      vector('policy.first', moments.first as Float64Array),
      vector('policy.second', moments.second as Float64Array),
      vector('value', state.valueTheta),
      vector('value.first', valueMoments.first as Float64Array),
      vector('value.second', valueMoments.second as Float64Array),
      vector('observed.mean', observed.mean),
      vector('observed.squares', observed.squares),
      ...(best === undefined
        ? []
        : [
            vector('best', best.theta),
            vector('best.mean', best.observed.mean),
            vector('best.squares', best.observed.squares),
          ]),
    ],
    { progress: JSON.stringify(progress) },
  );
}

/** @throws UserError if the checkpoint belongs to a training run with different settings */
export function readNumericCheckpoint(
  file: string,
  identity: string,
): { readonly state: LearnerState; readonly best: BestPolicy | undefined } | undefined {
  if (!existsSync(file)) return undefined;
  const { tensors, metadata } = readSafetensors(file);
  const progress = progressShape.safeParse(JSON.parse(metadata.progress ?? '{}'));
  if (progress.data?.identity !== identity)
    throw new UserError({
      file,
      message: 'this checkpoint is from a training run with different settings',
      remedy: 'restore the earlier settings, choose another output, or remove the checkpoint to start over',
    });
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const read = (name: string) => new Float64Array(Uint8Array.from(readTensorBytes(byName.get(name)!)).buffer);
  const { best, observed, updates, episodes, steps, evaluated, adamSteps } = progress.data;
  return {
    state: {
      theta: read('policy'),
      moments: { first: read('policy.first'), second: read('policy.second') },
      valueTheta: read('value'),
      valueMoments: { first: read('value.first'), second: read('value.second') },
      observed: { count: observed, mean: read('observed.mean'), squares: read('observed.squares') },
      ...{ updates, episodes, steps, evaluated, adamSteps },
    },
    best: best
      ? {
          ...{ step: best.step, meanReturn: best.meanReturn, theta: read('best') },
          observed: { count: best.observed, mean: read('best.mean'), squares: read('best.squares') },
        }
      : undefined,
  };
}

/** Writes policy.safetensors (parameters, observation moments) and policy.json. Returns their directory. */
export function writePolicy(
  { output, environment, policy, normalizeObservations }: NumericConfig,
  { theta, observed, step, meanReturn }: BestPolicy,
): string {
  const directory = join(output, numericFiles.policy);
  mkdirSync(directory, { recursive: true });
  writeSafetensors(join(directory, 'policy.safetensors'), [
    vector('policy', theta),
    vector('observed.mean', observed.mean),
    vector('observed.squares', observed.squares),
  ]);
  const about = {
    ...{ environment, policy, normalizeObservations, observed: observed.count },
    ...{ step, meanReturn },
  };
  replaceFile(join(directory, 'policy.json'), `${JSON.stringify(about, null, 2)}\n`);
  return directory;
}
