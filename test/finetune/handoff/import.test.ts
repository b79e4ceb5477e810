import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { execute as importCommand } from '../../../finetune/commands/import.js';
import { sha256 } from '../../../finetune/dataset/example.js';
import { readLineage, trainedEnvironments } from '../../../finetune/dataset/lineage.js';
import { tensorOf, writeSafetensors } from '../../../finetune/engine/safetensors-writer.js';
import { configSchema } from '../../../src/config/config.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../src/models/local/graph/adapter.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readSafetensors, readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

type ImportArguments = Parameters<typeof importCommand>[0];

const base = referenceDirectory('qwen3-fp32');
const adapter = join(base, 'adapter-after-12-steps');
const sharded = referenceDirectory('qwen2-tied-bf16-sharded');

/** What train.py leaves of a training. */
const state = {
  global_step: 2,
  log_history: [
    { step: 1, loss: 2.5 },
    { step: 1, eval_loss: 2.25 },
    { step: 2, loss: 2.125 },
    { step: 2, eval_loss: 2.375 },
  ],
};
const finished = { trainer: 'sft', seed: 0, steps: 2, versions: { trl: '1.13.0' } };

function workplace() {
  const cwd = temporaryDirectory();
  const { context, printed, noted } = recordingContext(cwd);
  const command = (directory: string, changes: Partial<ImportArguments> = {}, signal = context.stop.finish) =>
    importCommand(
      { directory, json: true, ...changes },
      { ...context, stop: { ...context.stop, finish: signal } },
    );
  const refusal = (directory: string, changes: Partial<ImportArguments> = {}) =>
    command(directory, { model: base, out: 'new', ...changes }).then(
      () => 'nothing thrown',
      (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
    );
  const result = () => JSON.parse(printed.at(-1)!) as { model: object; outcome: object; warnings: string[] };
  return { cwd, context, command, refusal, result, printed, noted };
}

function copied(cwd: string, source = adapter, name = 'came-back'): string {
  const directory = join(cwd, name);
  cpSync(source, directory, { recursive: true });
  return directory;
}

/** Rewrites the adapter's factors. */
function changeFactors(
  directory: string,
  change: (name: string, values: Float32Array) => Float32Array | undefined,
) {
  const file = join(directory, 'adapter_model.safetensors');
  const tensors = readSafetensors(file).tensors.flatMap((tensor) => {
    const values = change(tensor.name, toFloat32(readTensorBytes(tensor), tensor.dtype));
    return values === undefined ? [] : [tensorOf(tensor, values)];
  });
  writeSafetensors(file, tensors, { format: 'pt' });
}

describe('finetune import', () => {
  it('imports an exported training into the output directory of its config, with its lineage', async () => {
    const { cwd, context, command, result, noted } = workplace();
    mkdirSync(join(cwd, 'data'));
    const row = { prompt: [{ role: 'user', content: 'f' }], completion: 'params[0]: 1', weight: 1 };
    const rows = `${JSON.stringify(row)}\n`;
    writeFileSync(join(cwd, 'data', 'train.jsonl'), rows);
    const source = {
      run: 'a',
      environment: 'Taxi-v4',
      model: 'm',
      seed: 0,
      hash: 'h',
      split: 'train',
      kept: 1,
    };
    writeFileSync(
      join(cwd, 'data', 'manifest.json'),
      JSON.stringify({
        recipe: 'improvement',
        sources: [source],
        files: { 'train.jsonl': { sha256: sha256(rows) } },
      }),
    );
    writeFileSync(join(cwd, 'tune.yaml'), `model: ${base}\ndataset: data\noutput: tuned\nbatchExamples: 1\n`);
    await exportCommand(
      {
        config: 'tune.yaml',
        out: 'folder',
        rows: 'messages',
        gpus: 1,
        nodes: 1,
        perDevice: 1,
        trainer: 'trl',
        seeds: 1,
        time: '60',
        json: true,
      },
      context,
    );
    // What a cluster adds.
    const output = copied(join(cwd, 'folder'), adapter, 'output');
    writeFileSync(join(output, 'finished.json'), JSON.stringify(finished));
    writeFileSync(join(output, 'trainer_state.json'), JSON.stringify(state));
    writeFileSync(join(output, 'training_args.bin'), 'pickle');
    const elsewhere = JSON.parse(readFileSync(join(output, 'adapter_config.json'), 'utf8')) as object;
    writeFileSync(
      join(output, 'adapter_config.json'),
      JSON.stringify({ ...elsewhere, base_model_name_or_path: '/cluster/model' }),
    );

    expect(await command('folder')).toBe(0);
    const place = join(cwd, 'tuned', 'adapter');
    expect(readdirSync(place).toSorted()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
      'training.json',
    ]);
    expect(readFileSync(join(place, 'adapter_model.safetensors'))).toEqual(
      readFileSync(join(adapter, 'adapter_model.safetensors')),
    );
    expect(openAdapter(place, readDecoderConfig(base)).base).toBe(base);
    const lineage = readLineage(place)!;
    expect(lineage).toMatchObject({
      method: 'lora',
      base: { model: base, hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      outcome: { ended: 'complete', step: 2, best: { step: 1, loss: 2.25 } },
      imported: { trainer: 'trl sft', lastLoss: 2.125, seed: 0, versions: { trl: '1.13.0' } },
    });
    expect(trainedEnvironments(lineage)).toEqual(['Taxi-v4']);
    expect(configSchema.parse({ environment: 'Taxi-v4', model: result().model }).model).toMatchObject({
      provider: 'local',
      path: base,
      adapter: join('tuned', 'adapter'),
    });
    expect(noted).toEqual([]);
  });

  it.each(['/etc/policyloop', '../outside', 'tuned/../../outside'])(
    'rejects the output %s in lineage.json, which is outside the working directory',
    async (output) => {
      const { cwd, refusal } = workplace();
      const folder = copied(cwd);
      const lineage = {
        ...{
          version: 1,
          kind: 'trl-export',
          policyloop: '0.1.0',
          trainer: 'sft',
          rows: 'messages',
          warnings: [],
        },
        config: { output, method: { kind: 'lora' } },
        base: { path: base, name: 'base', hash: null },
        dataset: { path: 'data', recipe: null, sources: null, files: {}, changed: false },
      };
      writeFileSync(join(folder, 'lineage.json'), JSON.stringify(lineage));
      const message = await refusal('came-back', { out: undefined });
      expect(message).toMatch(
        /--out: the output directory in lineage\.json is outside the working directory[\s\S]*--out /,
      );
      expect(existsSync(join(cwd, '..', 'outside'))).toBe(false);
    },
  );

  it('imports an adapter without lineage and warns about what is unknown', async () => {
    const { cwd, command, result } = workplace();
    copied(cwd);
    expect(await command('came-back', { model: base, out: 'mine' })).toBe(0);
    expect(result().warnings).toEqual([
      expect.stringContaining('no lineage.json'),
      expect.stringContaining('unknown whether training finished'),
    ]);
    expect(readLineage(join(cwd, 'mine'))).toMatchObject({
      dataset: { sources: null },
      outcome: { ended: 'unknown', best: null },
    });
  });

  it('imports a whole model with all its shards, and no other files', async () => {
    const { cwd, command, result } = workplace();
    const source = copied(cwd, sharded);
    writeFileSync(join(source, 'optimizer.pt'), 'x');
    expect(await command('came-back', { out: 'mine' })).toBe(0);
    expect(readdirSync(join(cwd, 'mine')).toSorted()).toEqual(
      [
        'chat_template.jinja',
        'config.json',
        'generation_config.json',
        ...readdirSync(sharded).filter((name) => /^model/.test(name)),
        'tokenizer.json',
        'tokenizer_config.json',
        'training.json',
      ].toSorted(),
    );
    expect(result().model).toEqual({ provider: 'local', path: 'mine' });
  });

  it('imports an unfinished training only if its checkpoint is named', async () => {
    const { cwd, command, refusal, result } = workplace();
    const checkpoint = copied(cwd, adapter, 'run/checkpoint-1');
    writeFileSync(join(checkpoint, 'trainer_state.json'), JSON.stringify({ ...state, global_step: 1 }));
    const message = await refusal('run');
    expect(message).toMatch(/only checkpoints[\s\S]*checkpoint-1/);
    // A checkpoint that is still being written is listed, too, instead of hiding the others.
    mkdirSync(join(cwd, 'run/checkpoint-2'));
    writeFileSync(join(cwd, 'run/checkpoint-2/adapter_config.json'), '{}');
    expect(await refusal('run')).toMatch(/only checkpoints[\s\S]*checkpoint-1[\s\S]*checkpoint-2/);
    expect(await command('run/checkpoint-1', { model: base, out: 'mine' })).toBe(0);
    expect(result().warnings.join()).toMatch(
      /unknown whether training finished; the last recorded step is 1/,
    );
  });

  it('leaves nothing behind after Ctrl-C', async () => {
    const { cwd, command } = workplace();
    copied(cwd);
    const stop = new AbortController();
    stop.abort();
    expect(await command('came-back', { model: base, out: 'mine' }, stop.signal)).toBe(130);
    expect(readdirSync(cwd)).toEqual(['came-back']);
  });
});

describe('finetune import rejects', () => {
  it.each([
    ['a link instead of weights', /adapter_model\.safetensors: .*link/],
    ['another model’s adapter', /this adapter belongs to another model/],
    ['numbers that are not finite', /not finite: the training diverged/],
    ['an adapter that was not trained', /all B factors .* are 0/],
    ['a factor without its partner', /has no counterpart/],
    ['weights that are cut short', /not a usable safetensors file/],
    ['a directory in use', /this directory is not empty/],
    ['nothing to import', /no adapter_config\.json and no config\.json/],
    ['a base that is not here', /--model: this adapter's base model wasn't found/],
    ['no place for the result', /--out: .*lineage\.json/],
  ])('%s', async (what, expected) => {
    const { cwd, refusal } = workplace();
    const directory = copied(cwd);
    const weights = join(directory, 'adapter_model.safetensors');
    let changes: Partial<ImportArguments> = {};
    switch (what) {
      case 'a link instead of weights':
        renameSync(weights, join(cwd, 'elsewhere'));
        symlinkSync(join(cwd, 'elsewhere'), weights);
        break;
      case 'another model’s adapter':
        changes = { model: referenceDirectory('llama-untied-fp32') };
        break;
      case 'numbers that are not finite':
        changeFactors(directory, (_, values) => values.with(0, Number.NaN));
        break;
      case 'an adapter that was not trained':
        changeFactors(directory, (name, values) => (name.includes('lora_B') ? values.fill(0) : values));
        break;
      case 'a factor without its partner':
        changeFactors(directory, (name, values) => (/0.*q_proj.lora_B/.test(name) ? undefined : values));
        break;
      case 'weights that are cut short':
        writeFileSync(weights, readFileSync(weights).subarray(0, -1));
        break;
      case 'a directory in use':
        changes = { out: 'came-back' };
        break;
      case 'nothing to import':
        renameSync(join(directory, 'adapter_config.json'), join(directory, 'config.txt'));
        break;
      case 'a base that is not here':
        changes = { model: undefined };
        writeFileSync(
          join(directory, 'adapter_config.json'),
          readFileSync(join(directory, 'adapter_config.json'), 'utf8').replace(
            /"base_model_name_or_path": "[^"]*"/,
            '"base_model_name_or_path": "org/nowhere"',
          ),
        );
        break;
      default:
        changes = { out: undefined };
    }
    expect(await refusal('came-back', changes)).toMatch(expected);
    expect(readdirSync(cwd).filter((name) => name.startsWith('new'))).toEqual([]);
  });

  it('a shard outside the directory or with a hidden name', async () => {
    const { cwd, refusal } = workplace();
    const directory = copied(cwd, sharded);
    const index = join(directory, 'model.safetensors.index.json');
    writeFileSync(join(cwd, 'secret.safetensors'), 'x');
    for (const shard of ['../secret.safetensors', '/etc/passwd', '.hidden.safetensors']) {
      writeFileSync(index, JSON.stringify({ weight_map: { a: shard } }));
      expect(await refusal('came-back')).toMatch(/weight_map: /);
    }
    expect(existsSync(join(cwd, 'new'))).toBe(false);
  });
});
