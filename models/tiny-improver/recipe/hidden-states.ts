/** Computes the inputs of a model's language head at all positions of an answer whose next token is trained. */
import type { TokenExample } from '../../../finetune/engine/batch.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { emitDecoder } from '../../../src/models/local/graph/decoder.js';
import { GraphBuilder } from '../../../src/models/local/graph/graph.js';
import { applyNorm, storedParameters } from '../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';

export interface HiddenStates {
  /** [count, width], after the last normalisation. */
  readonly states: Float32Array;
  readonly width: number;
  /** The token that follows each position. */
  readonly targets: Int32Array;
}

/** Reads one example at a time, on one thread. */
export async function hiddenStates(
  directory: string,
  examples: readonly TokenExample[],
): Promise<HiddenStates> {
  const config = readDecoderConfig(directory);
  const g = new GraphBuilder();
  const parameters = storedParameters(g, openWeights(directory), 'float32');
  const ids = g.input('ids', 'int32', ['B', 'S']);
  const positions = g.input('positions', 'int32', ['S']);
  const rows = g.input('rows', 'int32', ['R']);
  const cache = config.layers.map(() => []);
  const build = { g, config, parameters, precision: 'float32' } as const;
  const { hidden } = emitDecoder(build, { ids, positions, cache });
  const chosen = g.op('Gather', [hidden, rows], { axis: 0 });
  const normed = applyNorm(build, chosen, config.modules.finalNorm);
  g.output('states', normed, 'float32', ['R', config.hidden]);
  const { folder, model } = g.build('hidden');
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1,
    enableMemPattern: false,
    logSeverityLevel: 3,
    extra: { session: folder === undefined ? {} : { model_external_initializers_file_folder_path: folder } },
  });
  const count = examples.reduce((sum, { completionIds }) => sum + completionIds.length, 0);
  const states = new Float32Array(count * config.hidden);
  const targets = new Int32Array(count);
  const tensor = (values: Int32Array, shape: readonly number[]) => new ort.Tensor('int32', values, shape);
  let filled = 0;
  for (const { completionIds, promptIds } of examples) {
    const sequence = Int32Array.from([...promptIds, ...completionIds.slice(0, -1)]);
    const places = Int32Array.from(completionIds, (_, i) => promptIds.length - 1 + i);
    const results = await session.run({
      ids: tensor(sequence, [1, sequence.length]),
      positions: tensor(
        Int32Array.from(sequence, (_, i) => i),
        [sequence.length],
      ),
      rows: tensor(places, [places.length]),
    });
    states.set(results.states!.data as Float32Array, filled * config.hidden);
    targets.set(completionIds, filled);
    filled += completionIds.length;
  }
  await session.release();
  return { states, width: config.hidden, targets };
}
