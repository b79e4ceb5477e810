/** What an adapter's files say is what is computed, or the adapter is refused by name: loading, checking and merging. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../../finetune/commands/export.js';
import { writeSafetensors } from '../../../../finetune/engine/safetensors-writer.js';
import { encodeFloats } from '../../../../finetune/export/merged/merged-rows.js';
import { execute as checkModelCommand } from '../../../../src/commands/models/check.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { openAdapter, readAdapter } from '../../../../src/models/local/graph/adapter.js';
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

/** What loading, `models check` and `finetune export` say of the adapter; none of them may take it. */
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
    ['init_lora_weights', 'pissa_niter_16'],
    ['init_lora_weights', 'olora'],
    ['init_lora_weights', 'OLoRA'],
    ['init_lora_weights', 'corda'],
    ['init_lora_weights', 'loftq'],
    ['init_lora_weights', 'lora_ga'],
    ['init_lora_weights', 'something_new'],
    ['alora_invocation_tokens', [1, 2, 3]],
    ['bias', 'all'],
    ['bias', 'lora_only'],
    ['lora_bias', true],
    ['fan_in_fan_out', true],
    ['modules_to_save', ['lm_head']],
    ['layer_replication', [[0, 2]]],
    ['trainable_token_indices', [1]],
    ['target_parameters', ['experts.gate_up_proj']],
    ['use_qalora', true],
    ['use_bdlora', { nblocks: 2 }],
    ['arrow_config', { top_k: 3 }],
    ['kasa_config', { beta: 1e-4 }],
    ['velora_config', { scale: 1 }],
    ['monteclora_config', { num_samples: 2 }],
    ['megatron_config', { x: 1 }],
    ['task_type', 'SEQ_CLS'],
    ['peft_type', 'LOHA'],
    ['a_key_of_tomorrow', 0.5],
    ['target_modules', null],
    ['lora_alpha', 1e300],
    ['r', 0],
  ])('%s: %j is refused by name', async (key, value) => {
    const directory = adapterWith({ config: { [key]: value } });
    for (const said of await refusals(directory)) expect(said).toMatch(new RegExp(key));
  });

  it.each<[string, unknown]>([
    ['init_lora_weights', false],
    ['init_lora_weights', 'gaussian'],
    ['init_lora_weights', 'eva'],
    ['init_lora_weights', 'orthogonal'],
    ['init_lora_weights', null],
    ['eva_config', { rho: 2 }],
    ['loftq_config', {}],
    ['lora_dropout', 0.1],
    ['inference_mode', false],
    ['auto_mapping', { base_model_class: 'Qwen3ForCausalLM' }],
    ['revision', 'main'],
    ['task_type', null],
    ['modules_to_save', []],
    ['bias', 'none'],
    ['alora_invocation_tokens', null],
    ['a_key_of_tomorrow', null],
    ['a_key_of_tomorrow', false],
  ])('%s: %j is accepted and has no effect', (key, value) => {
    expect(open(adapterWith({ config: { [key]: value } })).modules.size).toBe(21);
  });

  it('a refused key can be ignored, and the error says how', () => {
    const unknown = adapterWith({ config: { a_key_of_tomorrow: 0.5 } });
    expect(() => open(unknown)).toThrow(/hint: .*model\.ignoreKeys=\[a_key_of_tomorrow\]/);
    expect(open(unknown, ['a_key_of_tomorrow']).modules.size).toBe(21);
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
    ['another rank', shaped(someA, [3, 64]), /has the shape \[3, 64\]/],
    ['ranks that differ', shaped(someB, [96, 5]), /has the shape \[96, 5\]/],
    ['three dimensions', shaped(someA, [4, 64, 1]), /has the shape/],
    ['another width', shaped(someA, [4, 32]), /belongs to another model/],
    [
      'a module less than the config names',
      (all) => all.filter((one) => !named('k_proj')(one)),
      /target_modules/,
    ],
    [
      'a module of no such model',
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
    ['lengths without use_dora', extra(`${prefix}.lora_magnitude_vector`), /for one of these modules/],
    ['another adapter beside it', extra(`${prefix}.lora_A.default.weight`), /for one of these modules/],
    ['the same factor twice', extra('model.layers.1.self_attn.q_proj.lora_A.weight', [4, 64]), /twice/],
    ['none at all', () => [], /has no factors/],
    [
      'numbers of an unknown type',
      (all) => all.map((one) => (named(someA)(one) ? { ...one, dtype: 'I8' } : one)),
      /dtype are not supported/,
    ],
  ])('are refused when loading, checking and merging: %s', async (_, tensors, message) => {
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

describe('DoRA', () => {
  const dora = fixture('dora');
  const openDora = (directory: string) =>
    openAdapter(directory, readDecoderConfig(referenceDirectory('qwen2-tied-bf16-sharded')));

  it('is distinguished from LoRA by `models check`', async () => {
    const { context, printed } = recordingContext(temporaryDirectory());
    await checkModelCommand(
      { directory: dora, base: referenceDirectory('qwen2-tied-bf16-sharded'), json: false },
      context,
    );
    expect(printed.join('\n')).toMatch(/^adapter +DoRA of rank 4, alpha 8: scaled by 2$/m);
    expect(printed.join('\n')).toMatch(/^verdict +can be used with/m);
  });

  it('can also have magnitudes whose names end in .weight', () => {
    const renamed = adapterWith({
      from: dora,
      tensors: (all) =>
        all.map((one) => ({ ...one, name: one.name.replace(/(lora_magnitude_vector)$/, '$1.weight') })),
    });
    expect(openDora(renamed).modules.size).toBe(12);
  });

  it.each<[string, (tensors: Tensor[]) => Tensor[], RegExp]>([
    [
      'no length',
      (all) => all.filter(({ name }) => !/0.*q_proj.lora_mag/.test(name)),
      /no .*lora_magnitude_vector/,
    ],
    [
      'lengths of another matrix',
      (all) =>
        all.map((one) =>
          /lora_mag/.test(one.name) ? { ...one, shape: [2], values: one.values.slice(0, 2) } : one,
        ),
      /has the shape \[2\]/,
    ],
    [
      'a length that is no number',
      (all) =>
        all.map((one) => (/lora_mag/.test(one.name) ? { ...one, values: one.values.fill(Number.NaN) } : one)),
      /not finite/,
    ],
  ])('with %s is refused', (_, tensors, message) => {
    expect(() => openDora(adapterWith({ from: dora, tensors }))).toThrow(message);
  });
});

describe('target_modules', () => {
  const only = (part: RegExp) => (all: Tensor[]) => all.filter(({ name }) => part.test(name));

  it.each<[string, unknown, RegExp]>([
    ['a pattern', '.*\\.layers\\.\\d+\\.self_attn\\.(?:q|v)_proj', /[qv]_proj/],
    ['a pattern of Python alone', '(?i)(?P<all>.*)\\.[QV]_PROJ', /[qv]_proj/],
    ['a pattern with a look ahead', '^(?!.*mlp).*_proj$', /self_attn/],
    ['all-linear', 'all-linear', /./],
    ['names', ['q_proj', 'mlp.up_proj', 'query_key_value'], /q_proj|up_proj/],
    ['whole paths', ['model.layers.2.mlp.down_proj'], /2\.mlp\.down_proj/],
  ])('selects modules by %s', (_, target_modules, part) => {
    const right = adapterWith({ config: { target_modules }, tensors: only(part) });
    expect(open(right).modules.size).toBeGreaterThan(0);
    // A pattern fits the whole path, or not at all.
    const other = adapterWith({ config: { target_modules: 'q_proj' }, tensors: only(part) });
    expect(() => open(other)).toThrow(/doesn’t select/);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a name fits ends of paths only', { target_modules: ['proj'] }],
    ['excluded modules', { exclude_modules: ['q_proj'] }],
    ['an excluding pattern', { exclude_modules: '.*q_proj' }],
    ['other layers', { layers_to_transform: [0, 1] }],
  ])('refuses factors of modules that the config does not select: %s', (_, config) => {
    expect(() => readAdapter(adapterWith({ config }))).toThrow(/doesn’t select/);
  });

  it.each<[string, string, RegExp]>([
    ['takes for ever', '(((\\w+)+)+\\.?)*X', /takes too long/],
    ['is for Python alone', '(?>.*)proj', /Python and JavaScript don’t share/],
    ['has a back reference', '(.*)\\1', /means something else/],
    ['is none', '(', /isn’t valid in JavaScript/],
  ])('a pattern that %s is refused', (_, target_modules, message) => {
    expect(() => open(adapterWith({ config: { target_modules } }))).toThrow(message);
    expect(() => open(adapterWith({ config: { rank_pattern: { [target_modules]: 4 } } }))).toThrow(message);
  });

  it('ranks and alphas by pattern give the scales of PEFT', () => {
    const { modules } = openAdapter(fixture('patterns'), readDecoderConfig(base));
    const scaleOf = (module: string) => modules.get(`model.layers.${module}`)!.scale;
    expect(scaleOf('0.self_attn.q_proj')).toBeCloseTo(5 / Math.sqrt(2), 12);
    expect(scaleOf('0.self_attn.v_proj')).toBeCloseTo(5 / 2, 12);
    expect(scaleOf('1.self_attn.v_proj')).toBeCloseTo(5, 12);
    expect(scaleOf('2.mlp.gate_proj')).toBeCloseTo(9 / Math.sqrt(2), 12);
    expect(modules.has('model.layers.0.mlp.gate_proj')).toBe(false);
  });
});
