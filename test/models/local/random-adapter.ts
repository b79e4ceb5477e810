import path from 'node:path';
import { writeAdapter } from '../../../finetune/engine/first-values.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { AdaptableModule } from '../../../src/models/local/graph/adapter.js';
import { decoderTensors } from '../../../src/models/local/graph/parameters.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

export interface RandomAdapter {
  readonly model: string;
  readonly rank: number;
  readonly modules: readonly AdaptableModule[];
  readonly seed: number;
  readonly rankStabilized?: boolean;
}

/** Writes an adapter whose factors are random, large enough to change what the model says; returns its directory. */
export function randomAdapter({ model, rank, modules, seed, rankStabilized = false }: RandomAdapter): string {
  const directory = path.join(temporaryDirectory(), `random-${seed}`);
  const random = createGenerator(seed);
  const parameters = decoderTensors(readDecoderConfig(model)).flatMap(({ name, shape }) => {
    const module = name.replace(/\.weight$/, '');
    if (!modules.some((one) => module.endsWith(`.${one}`))) return [];
    const [out, width] = shape as [number, number];
    return (
      [
        ['lora_A', [rank, width]],
        ['lora_B', [out, rank]],
      ] as const
    ).map(([factor, size]) => ({
      name: `${module}.${factor}.weight`,
      shape: size,
      values: Float32Array.from({ length: size[0] * size[1] }, () => random.uniform(-0.2, 0.2)),
    }));
  });
  const lora = { rank, alpha: 3, rankStabilized, dropout: 0, modules: [...modules] };
  writeAdapter(directory, parameters, lora, model);
  return directory;
}
