/** Loading, checking and merging follow an adapter's files exactly, or reject the adapter and name the key. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../../finetune/commands/export.js';
import { writeSafetensors } from '../../../../finetune/engine/safetensors-writer.js';
import { encodeFloats } from '../../../../finetune/export/merged/merged-rows.js';
import { execute as checkModelCommand } from '../../../../src/commands/models/check.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../../src/models/local/graph/adapter.js';
import { createLocalModel } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { toFloat32 } from '../../../../src/models/local/weights/quantization.js';
import { readSafetensors, readTensorBytes } from '../../../../src/models/local/weights/safetensors.js';
import { recordingContext } from '../../../support/experiments.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { referenceDirectory } from '../fixture.js';

const base = referenceDirectory('qwen3-fp32');
const plain = path.join(base, 'adapter-start');
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../fixtures/adapters/${name}`, import.meta.url));

interface Tensor {
  name: string;
  shape: readonly number[];
  values: Float32Array;
  dtype?: string;
}

interface Changes {
  readonly from?: string;
  readonly config?: Record<string, unknown>;
  readonly tensors?: (tensors: Tensor[]) => Tensor[];
}

function adapterWith({ from = plain, config = {}, tensors }: Changes): string {
  const directory = path.join(temporaryDirectory(), 'adapter');
  cpSync(from, directory, { recursive: true });
  const file = path.join(directory, 'adapter_config.json');
  const stated = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...stated, base_model_name_or_path: base, ...config }));
  if (tensors === undefined) return directory;
  const weights = path.join(directory, 'adapter_model.safetensors');
  const changed = tensors(
    readSafetensors(weights).tensors.map((tensor) => ({
      name: tensor.name,
      shape: tensor.shape,
      values: toFloat32(readTensorBytes(tensor), tensor.dtype).slice(),
    })),
  );
  writeSafetensors(
    weights,
    changed.map(({ name, shape, values, dtype = 'F32' }) => {
      const bytes = dtype.length === 2 ? new Uint8Array(values.length) : encodeFloats(values, dtype);
      return { name, shape, dtype, byteLength: bytes.length, chunks: () => [bytes] };
    }),
  );
  return directory;
}

const open = (directory: string, ignoredKeys?: readonly string[]) =>
  openAdapter(directory, readDecoderConfig(base), ignoredKeys);

/** The errors from loading, `models check` and `finetune export`; each of them must reject the adapter. */
async function refusals(directory: string): Promise<string[]> {
  const loading = (() => {
    try {
      createLocalModel(localSchema.parse({ provider: 'local', path: base, adapter: directory }));
      return 'loaded';
    } catch (error) {
      return String(error);
    }
  })();
  const { context, printed } = recordingContext(temporaryDirectory());
  const code = await checkModelCommand({ directory, json: false }, context);
  const out = path.join(temporaryDirectory(), 'merged');
  const args = { source: directory, to: 'merged', model: base, out, quiet: true, json: false } as const;
  const merging = await exportCommand(args, recordingContext(temporaryDirectory()).context).then(
    () => 'merged',
    (error: unknown) => String(error),
  );
  expect(existsSync(out)).toBe(false);
  return [loading, code === 1 ? printed.join('\n') : 'passed', merging];
}

describe('keys of adapter_config.json', () => {
  it.each<[string, unknown]>([
    ['init_lora_weights', 'pissa'],
    ['init_lora_weights', 'olora'],
    ['init_lora_weights', 'loftq'],
    ['init_lora_weights', 'something_new'],
    ['alora_invocation_tokens', [1, 2, 3]],
    ['bias', 'all'],
    ['use_dora', true],
    ['lora_bias', true],
    ['fan_in_fan_out', true],
    ['modules_to_save', ['lm_head']],
    ['target_parameters', ['experts.gate_up_proj']],
    ['megatron_config', { x: 1 }],
    ['task_type', 'SEQ_CLS'],
    ['peft_type', 'LOHA'],
    ['a_key_of_tomorrow', 0.5],
    ['lora_alpha', 1e300],
    ['r', 0],
  ])('%s: %j is rejected with an error that names the key', async (key, value) => {
    const directory = adapterWith({ config: { [key]: value } });
    for (const said of await refusals(directory)) expect(said).toMatch(new RegExp(key));
  });

  it.each<[string, unknown]>([
    ['init_lora_weights', false],
    ['init_lora_weights', 'gaussian'],
    ['init_lora_weights', null],
    ['eva_config', { rho: 2 }],
    ['lora_dropout', 0.1],
    ['inference_mode', false],
    ['task_type', null],
    ['modules_to_save', []],
    ['bias', 'none'],
    ['a_key_of_tomorrow', null],
    ['a_key_of_tomorrow', false],
  ])('%s: %j is accepted', (key, value) => {
    expect(open(adapterWith({ config: { [key]: value } })).modules.size).toBe(21);
  });

  it('a rejected key can be ignored, and the error says how', async () => {
    const unknown = adapterWith({ config: { a_key_of_tomorrow: 0.5 } });
    expect(() => open(unknown)).toThrow(/hint: .*model\.ignoreKeys=\[a_key_of_tomorrow\]/);
    expect(open(unknown, ['a_key_of_tomorrow']).modules.size).toBe(21);
    const check = { directory: unknown, ignoreKeys: 'other, a_key_of_tomorrow', json: false } as const;
    expect(await checkModelCommand(check, recordingContext(temporaryDirectory()).context)).toBe(0);
    const residual = adapterWith({ config: { init_lora_weights: 'pissa' } });
    expect(() => open(residual)).toThrow(
      /path_initial_model_for_weight_conversion[\s\S]*ignoreKeys=\[init_lora_weights\]/,
    );
    expect(open(residual, ['init_lora_weights']).modules.size).toBe(21);
    const model = { provider: 'local', path: base, adapter: residual, ignoreKeys: ['init_lora_weights'] };
    expect(createLocalModel(localSchema.parse(model)).id).toBe('local/qwen3-fp32+adapter');
  });
});

const named = (part: string) => (tensor: Tensor) => tensor.name.includes(part);
const someA = 'layers.1.self_attn.q_proj.lora_A';
const someB = 'layers.1.self_attn.q_proj.lora_B';

describe('tensors of adapter_model.safetensors', () => {
  const setValue = (at: string, value: number) => (tensors: Tensor[]) =>
    tensors.map((one) => (named(at)(one) ? { ...one, values: one.values.with(5, value) } : one));
  const shaped = (at: string, shape: readonly number[]) => (tensors: Tensor[]) =>
    tensors.map((one) => {
      const size = shape.reduce((a, b) => a * b, 1);
      return named(at)(one) ? { ...one, shape, values: new Float32Array(size) } : one;
    });
  const extra =
    (name: string, shape: readonly number[] = [4]) =>
    (tensors: Tensor[]) => [
      ...tensors,
      { name, shape, values: new Float32Array(shape.reduce((a, b) => a * b, 1)) },
    ];
  const prefix = 'base_model.model.model.layers.1.self_attn.q_proj';

  it.each<[string, (tensors: Tensor[]) => Tensor[], RegExp]>([
    ['NaN in A', setValue(someA, Number.NaN), /not finite/],
    ['infinity in B', setValue(someB, Number.POSITIVE_INFINITY), /not finite/],
    ['A without B', (all) => all.filter((one) => !named(someB)(one)), /has no counterpart: .*lora_B/],
    ['B without A', (all) => all.filter((one) => !named(someA)(one)), /has no counterpart: .*lora_A/],
    ['a different rank', shaped(someA, [3, 64]), /has the shape \[96, 4\]/],
    ['ranks that differ', shaped(someB, [96, 5]), /has the shape \[96, 5\]/],
    ['three dimensions', shaped(someA, [4, 64, 1]), /has the shape/],
    ['a different width', shaped(someA, [4, 32]), /belongs to another model/],
    [
      'a module that the model lacks',
      extra('base_model.model.model.layers.9.mlp.up_proj.lora_A.weight'),
      /counterpart/,
    ],
    [
      'an embedding',
      extra('base_model.model.model.embed_tokens.lora_embedding_A'),
      /for one of these modules/,
    ],
    ['a saved head', extra('base_model.model.lm_head.weight'), /for one of these modules/],
    ['a bias of B', extra(`${prefix}.lora_B.bias`), /for one of these modules/],
    ['lengths (DoRA)', extra(`${prefix}.lora_magnitude_vector`), /for one of these modules/],
    ['a second adapter', extra(`${prefix}.lora_A.default.weight`), /for one of these modules/],
    ['the same factor twice', extra('model.layers.1.self_attn.q_proj.lora_A.weight', [4, 64]), /twice/],
    ['no tensors at all', () => [], /has no factors/],
    [
      'numbers of an unknown type',
      (all) => all.map((one) => (named(someA)(one) ? { ...one, dtype: 'I8' } : one)),
      /dtype are not supported/,
    ],
  ])('are rejected when loading, checking and merging: %s', async (_, tensors, message) => {
    const directory = adapterWith({ tensors });
    const [loading, check, merging] = await refusals(directory);
    for (const said of [loading, check, merging]) expect(said).toMatch(message);
  });

  it('can be in float16 or bfloat16, and are still checked for NaN', () => {
    for (const dtype of ['F16', 'BF16']) {
      const directory = adapterWith({ tensors: (all) => all.map((one) => ({ ...one, dtype })) });
      expect(open(directory).modules.size).toBe(21);
      const broken = adapterWith({
        tensors: (all) => setValue(someA, Number.NaN)(all).map((one) => ({ ...one, dtype })),
      });
      expect(() => open(broken)).toThrow(/not finite/);
    }
  });
});

describe('alpha_pattern', () => {
  it('gives the scales of PEFT, even together with rank_pattern', () => {
    const { modules } = openAdapter(fixture('patterns'), readDecoderConfig(base));
    const scaleOf = (module: string) => modules.get(`model.layers.${module}`)!.scale;
    expect(scaleOf('0.self_attn.q_proj')).toBeCloseTo(5 / Math.sqrt(2), 12);
    expect(scaleOf('0.self_attn.v_proj')).toBeCloseTo(5 / 2, 12);
    expect(scaleOf('1.self_attn.v_proj')).toBeCloseTo(5, 12);
    expect(scaleOf('2.mlp.gate_proj')).toBeCloseTo(9 / Math.sqrt(2), 12);
    expect(modules.has('model.layers.0.mlp.gate_proj')).toBe(false);
  });

  it('matches the ends of paths, after a dot', () => {
    const { modules } = open(adapterWith({ config: { alpha_pattern: { q_proj: 5, proj: 7 } } }));
    const [q, k] = ['q', 'k'].map((name) => modules.get(`model.layers.0.self_attn.${name}_proj`)!);
    expect(q!.scale * q!.rank).toBe(5);
    expect(k!.scale * k!.rank).not.toBe(7);
  });

  it.each([
    ['takes too long', '(((\\w+)+)+\\.?)*X', /takes longer/],
    ['works only in Python', '(?>.*)proj', /starts with/],
    ['has an escape that only Python supports', '\\Aq_proj', /Invalid regular expression/],
    ['is malformed', '(', /Invalid regular expression/],
  ])('a pattern that %s is rejected', (_, pattern, message) => {
    expect(() => open(adapterWith({ config: { alpha_pattern: { [pattern]: 4 } } }))).toThrow(message);
  });
});
