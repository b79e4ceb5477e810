import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { trainingLineage, writeLineage } from '../../../finetune/dataset/lineage.js';
import { UserError } from '../../../src/base/errors.js';
import { takeLock } from '../../../src/base/files/lock.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => path.join(place, ...parts);

/** Creates a model, and an adapter that names it, as training leaves them. */
function prepare(name: string, reference: string): void {
  cpSync(referenceDirectory(reference), at('models', name), { recursive: true });
  cpSync(path.join(referenceDirectory(reference), 'adapter-after-12-steps'), at(name, 'adapter'), {
    recursive: true,
  });
  const file = at(name, 'adapter', 'adapter_config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, base_model_name_or_path: `models/${name}` }));
}

beforeAll(() => {
  prepare('llama', 'llama3-rope-bf16');
  prepare('qwen', 'qwen2-tied-bf16-sharded');
});

async function exported(to: 'merged' | 'gguf', source: string, out: string, more: object, changes: object) {
  const recorded = recordingContext(place, changes);
  const code = await exportCommand({ source, to, out, json: true, ...more }, recorded.context);
  return { code, ...recorded };
}
const merge = (adapter: string, out: string, more: object = {}, changes = {}) =>
  exported('merged', adapter, out, more, changes);
const toGguf = (source: string, out: string, more: object = {}, changes = {}) =>
  exported('gguf', source, out, more, changes);
const refusal = (result: Promise<unknown>) =>
  result.then(
    () => '',
    (error: unknown) => (error instanceof UserError ? error.message : String(error)),
  );

/** Returns the signal after Ctrl-C was pressed. */
function pressed(): AbortSignal {
  const controller = new AbortController();
  controller.abort();
  return controller.signal;
}
const interrupted = { stop: { finish: pressed(), abort: new AbortController().signal } };

describe('finetune export --to merged', () => {
  it("finds the base that the adapter names, and keeps over 90 % of the adapter's change", async () => {
    const { code, printed } = await merge('llama/adapter', 'merged');
    expect(code).toBe(0);
    const result = JSON.parse(printed[0]!) as { keptChange: number };
    expect(result).toMatchObject({ out: 'merged', base: path.join('models', 'llama'), dtype: 'stored' });
    expect(result.keptChange).toBeGreaterThan(0.9);
    const exact = await merge('llama/adapter', 'in-float32', { dtype: 'f32' });
    expect(JSON.parse(exact.printed[0]!)).toMatchObject({ keptChange: expect.closeTo(1, 6), dtype: 'f32' });
  });

  it('keeps the lineage of the adapter, not that of its base', async () => {
    cpSync(at('llama'), at('with-lineage'), { recursive: true });
    writeFileSync(at('with-lineage', 'adapter', 'training.json'), '{"of":"adapter"}');
    cpSync(at('models', 'llama'), at('models', 'trained'), { recursive: true });
    writeFileSync(at('models', 'trained', 'training.json'), '{"of":"base"}');
    await merge('with-lineage/adapter', 'lineage', { model: 'models/trained' });
    expect(readFileSync(at('lineage', 'training.json'), 'utf8')).toBe('{"of":"adapter"}');
    await merge('llama/adapter', 'no-lineage', { model: 'models/trained' });
    expect(existsSync(at('no-lineage', 'training.json'))).toBe(false);
  });

  it('leaves nothing behind when interrupted, and removes leftovers of a crash', async () => {
    expect(await merge('qwen/adapter', 'stopped', {}, interrupted)).toMatchObject({ code: 130, printed: [] });
    mkdirSync(at('again.partial'));
    writeFileSync(at('again.partial', 'half'), '');
    // A lock left by a process that no longer runs.
    writeFileSync(at('again.partial.lock'), '');
    await merge('qwen/adapter', 'again');
    expect(readdirSync(place).filter((name) => /stopped|partial/.test(name))).toEqual([]);
    expect(readdirSync(at('again'))).not.toContain('half');
  });

  it('rejects an output that another process is writing, and keeps files that it did not write', async () => {
    mkdirSync(at('mine.partial'));
    writeFileSync(at('mine.partial', 'notes.txt'), 'precious');
    expect(await refusal(merge('llama/adapter', 'mine'))).toMatch(/already exists[\s\S]*move it/);
    expect(readFileSync(at('mine.partial', 'notes.txt'), 'utf8')).toBe('precious');
    expect(existsSync(at('mine.partial.lock'))).toBe(false);
    const release = takeLock(at('busy.partial.lock'));
    expect(await refusal(merge('llama/adapter', 'busy'))).toMatch(/another process is writing here/);
    const releaseFile = takeLock(at('busy.gguf.partial.lock'));
    expect(await refusal(toGguf('models/llama', 'busy.gguf'))).toMatch(/another process is writing here/);
    release();
    releaseFile();
    await toGguf('models/llama', 'busy.gguf');
    // The target of a link to an empty directory is replaced, and the link stays.
    mkdirSync(at('disk'));
    symlinkSync(at('disk'), at('link'));
    await merge('llama/adapter', 'link');
    expect(existsSync(at('disk', 'config.json'))).toBe(true);
  });

  it('reports missing adapters and bases, unsuitable bases, and outputs that are not empty', async () => {
    expect(await refusal(merge('nowhere', 'x'))).toMatch(/there is no such directory/);
    expect(await refusal(merge('llama/adapter', 'x', { model: 'models/nowhere' }))).toMatch(
      /there is no such directory/,
    );
    expect(await refusal(merge('llama/adapter', 'x', { model: 'qwen/adapter' }))).toMatch(
      /an adapter, not a model/,
    );
    expect(await refusal(merge('llama/adapter', 'models/llama'))).toMatch(/already contains a model/);
    expect(await refusal(merge('llama/adapter', '.'))).toMatch(/is not empty/);
    cpSync(at('llama'), at('lost'), { recursive: true });
    const file = at('lost', 'adapter', 'adapter_config.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('models/llama', 'org/elsewhere'));
    expect(await refusal(merge('lost/adapter', 'x'))).toMatch(
      /base_model_name_or_path: model not found[\s\S]*--model[\s\S]*org\/elsewhere/,
    );
    expect(existsSync(at('x'))).toBe(false);
    expect(await refusal(toGguf('lost/adapter', 'x.gguf'))).toMatch(
      /model not found[\s\S]*--model models\/…/,
    );
  });
});

describe('finetune export --to gguf', () => {
  it('writes a GGUF file and a Modelfile from an adapter alone, and names the next command', async () => {
    const { code, printed } = await toGguf('qwen/adapter', 'out/tuned.gguf', { json: false });
    expect(code).toBe(0);
    expect(printed[0]).toContain(`ollama create tuned -f ${path.join('out', 'tuned.Modelfile')}`);
    expect(readdirSync(at('out')).sort()).toEqual(['tuned.Modelfile', 'tuned.gguf']);
    await toGguf('models/qwen', 'base.gguf');
    expect(readFileSync(at('base.gguf')).equals(readFileSync(at('out', 'tuned.gguf')))).toBe(false);
  });

  it('takes the base from --model, and rejects a package: path to another model', async () => {
    cpSync(at('qwen'), at('moved'), { recursive: true });
    const file = at('moved', 'adapter', 'adapter_config.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('models/qwen', 'org/elsewhere'));
    await toGguf('moved/adapter', 'moved.gguf', { model: 'models/qwen' });
    await toGguf('qwen/adapter', 'plain.gguf');
    expect(readFileSync(at('moved.gguf')).equals(readFileSync(at('plain.gguf')))).toBe(true);
    const embedded = 'package:models/tiny-improver';
    expect(await refusal(toGguf('moved/adapter', 'x.gguf', { model: embedded }))).toMatch(/another model/);
    expect(await refusal(merge('moved/adapter', 'x', { model: embedded }))).toMatch(/another model/);
    writeFileSync(file, readFileSync(file, 'utf8').replace('org/elsewhere', embedded));
    expect(await refusal(toGguf('moved/adapter', 'x.gguf'))).toMatch(/another model/);
    expect(existsSync(at('x.gguf'))).toBe(false);
  });

  it('warns if most of a small change is lost in q8_0, and does not warn for f16', async () => {
    prepare('weak', 'qwen2-tied-bf16-sharded');
    const file = at('weak', 'adapter', 'adapter_config.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as { lora_alpha: number };
    await toGguf('models/qwen', 'q8.gguf', { dtype: 'q8_0' });
    const withAlpha = (alpha: number, dtype: string) => {
      writeFileSync(file, JSON.stringify({ ...config, lora_alpha: alpha }));
      return toGguf('weak/adapter', `${dtype}-${alpha}.gguf`, { model: 'q8.gguf', dtype });
    };
    const weak = await withAlpha(config.lora_alpha / 1000, 'q8_0');
    expect(JSON.parse(weak.printed[0]!).keptChange).toBeLessThan(0.5);
    expect(weak.noted).toEqual([expect.stringMatching(/^rounding to q8_0 kept only /)]);
    const strong = await withAlpha(config.lora_alpha, 'q8_0');
    const exact = await withAlpha(config.lora_alpha / 1000, 'f16');
    expect([strong.noted, exact.noted]).toEqual([[], []]);
  });

  it('accepts unknown config keys listed in --ignore-keys, even when merging', async () => {
    cpSync(at('models', 'qwen'), at('models', 'scaled'), { recursive: true });
    const file = at('models', 'scaled', 'config.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('{', '{"some_scale": 3,'));
    expect(await refusal(toGguf('models/scaled', 'x.gguf'))).toMatch(
      /some_scale[\s\S]*--ignore-keys some_scale/,
    );
    const options = { model: 'models/scaled', ignoreKeys: 'some_scale' };
    expect((await toGguf('qwen/adapter', 'scaled.gguf', options)).code).toBe(0);
    expect((await merge('qwen/adapter', 'merged-scaled', options)).code).toBe(0);
  });

  it("writes the model's template, stop tokens and sampling settings to the Modelfile", async () => {
    cpSync(at('models', 'llama'), at('models', 'sampled'), { recursive: true });
    writeFileSync(
      at('models', 'sampled', 'generation_config.json'),
      JSON.stringify({ eos_token_id: [2, 0], temperature: 0.7, top_k: 20 }),
    );
    await toGguf('models/sampled', 'sampled.gguf');
    const text = readFileSync(at('sampled.Modelfile'), 'utf8');
    expect(text).toMatch(/^FROM \.\/sampled\.gguf\n/);
    expect(text).toContain(
      'TEMPLATE """{{ range .Messages }}{{ if eq .Role "system" }}<|im_start|>system\n{{ .Content }}<|im_end|>\n' +
        '{{ else if eq .Role "user" }}<|im_start|>user\n{{ .Content }}' +
        '{{ else if eq .Role "assistant" }}<|im_end|>\n<|im_start|>assistant\n{{ .Content }}<|im_end|>\n{{ end }}{{ end }}' +
        '<|im_end|>\n<|im_start|>assistant\n"""',
    );
    const parameters = [...text.matchAll(/^PARAMETER (.*)$/gm)].map(([, parameter]) => parameter);
    expect(parameters).toEqual([
      'stop "<|endoftext|>"',
      'stop "<|im_end|>"',
      'temperature 0.7',
      'top_p 1',
      'top_k 20',
      'min_p 0',
      'repeat_penalty 1',
      'num_ctx 512',
    ]);
  });

  it("notes that the Modelfile has no TEMPLATE if it can't be derived", async () => {
    cpSync(at('models', 'llama'), at('models', 'odd'), { recursive: true });
    writeFileSync(at('models', 'odd', 'chat_template.jinja'), '{{ messages[-1].content }}');
    const { printed, noted } = await toGguf('models/odd', 'odd.gguf');
    expect(JSON.parse(printed[0]!)).toMatchObject({ template: false });
    expect(noted.join()).toContain('odd.Modelfile has no TEMPLATE');
    expect(readFileSync(at('odd.Modelfile'), 'utf8')).not.toMatch(/^TEMPLATE/m);
  });

  it('renders the template with the variables that the adapter was trained with', async () => {
    cpSync(at('models', 'qwen'), at('models', 'thinking'), { recursive: true });
    const file = at('models', 'thinking', 'chat_template.jinja');
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}{% if enable_thinking is false %}{{ '<think></think>' }}{% endif %}`,
    );
    cpSync(at('qwen', 'adapter'), at('unthinking'), { recursive: true });
    writeLineage(
      at('unthinking'),
      trainingLineage({
        method: 'lora',
        model: 'models/thinking',
        dataset: { path: 'data', recipe: null, sources: null, files: {}, changed: false },
        config: { template: { enable_thinking: false } },
        outcome: { ended: 'complete', step: 1 },
      }),
    );
    await toGguf('models/thinking', 'thinking.gguf');
    await toGguf('unthinking', 'unthinking.gguf', { model: 'models/thinking' });
    const text = (name: string) => readFileSync(at(`${name}.Modelfile`), 'utf8');
    expect(text('unthinking')).toContain('assistant\n<think></think>"""');
    expect(text('thinking')).not.toContain('<think>');
  });

  it('limits the context to a sliding window, and says so', async () => {
    cpSync(at('models', 'qwen'), at('models', 'window'), { recursive: true });
    const file = at('models', 'window', 'config.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(
      file,
      JSON.stringify({
        ...config,
        use_sliding_window: true,
        sliding_window: 64,
        max_window_layers: 0,
        layer_types: null,
      }),
    );
    const { printed, noted } = await toGguf('models/window', 'window.gguf');
    expect(JSON.parse(printed[0]!)).toMatchObject({ contextTokens: 64, cappedFrom: 512 });
    expect(noted.join()).toMatch(/context is 64 tokens, not 512/);
  });

  it('reports wrong extensions, existing outputs and missing models', async () => {
    expect(await refusal(toGguf('models/qwen', 'x.bin'))).toMatch(/must end in \.gguf/);
    writeFileSync(at('taken.Modelfile'), '');
    expect(await refusal(toGguf('models/qwen', 'taken.gguf'))).toMatch(
      /already exists[\s\S]*taken\.Modelfile/,
    );
    writeFileSync(at('there.gguf'), '');
    expect(await refusal(toGguf('models/qwen', 'there.gguf'))).toMatch(/already exists/);
    expect(await refusal(toGguf('models/nowhere', 'x.gguf'))).toMatch(/there is no such directory/);
    expect(await refusal(merge('models/llama', 'x'))).toMatch(/adapter_config\.json/);
    expect(await refusal(merge('llama/adapter', 'x', { dtype: 'q8_0' }))).toMatch(
      /--dtype[\s\S]*stored, f32/,
    );
  });
});
