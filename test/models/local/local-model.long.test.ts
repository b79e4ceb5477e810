import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import type { LanguageModel, ModelError } from '../../../src/models/language-model.js';
import type { GenerationJob } from '../../../src/models/local/generation/protocol.js';
import { createLocalModel } from '../../../src/models/local/process/local-model.js';
import { ModelProcess } from '../../../src/models/local/process/model-process.js';
import { type LocalConfig, localSchema } from '../../../src/models/local/settings.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../../src/prompting/notation/grammar.js';
import { ask } from '../../support/ask.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { readReference, referenceDirectory } from './fixture.js';

const open: { close?(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((model) => model.close?.()));
});

const path = referenceDirectory('qwen2-tied-bf16-sharded');
const messages = readReference('qwen2-tied-bf16-sharded').messages;
const parameters = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const grammar = answerGrammar(parameters);

function localModel(config: Partial<LocalConfig> = {}): LanguageModel {
  const model = createLocalModel(
    localSchema.parse({ provider: 'local', path, threads: 1, device: 'cpu', format: 'text', ...config }),
  );
  open.push(model);
  return model;
}

function modelProcess(): ModelProcess {
  const model = new ModelProcess('local/test', {
    path,
    threads: 1,
    device: 'cpu',
    quantization: 'none',
    contextTokens: undefined,
    template: {},
  });
  open.push(model);
  return model;
}

const job: GenerationJob = { messages, seeds: [1], maxTokens: 12, sampling: { temperature: 1 } };

test('greedy text from the model process equals the reference', async () => {
  const model = localModel({ temperature: 0, maxTokens: 24 });
  const completion = await ask(model, messages, { grammar, seeds: [1] });
  expect(completion.text).toBe(readReference('qwen2-tied-bf16-sharded').greedy_text);
  expect(completion).toMatchObject({
    finishReason: 'length',
    usage: { promptTokens: 66, cachedTokens: 0, completionTokens: 24 },
  });
});

test('the model reports how much of a prompt it has read', async () => {
  const model = localModel({ maxTokens: 2 });
  const read: (readonly number[])[] = [];
  const options = { seeds: [1], onRead: (...progress: readonly number[]) => read.push(progress) };
  await model.generate(messages, options);
  expect(read).toEqual([
    [0, 66],
    [64, 66],
    [66, 66],
  ]);
  await model.generate(messages, options);
  expect(read.slice(3).map(([, of]) => of)).toEqual([66, 66]);
  expect(read[3]![0]).toBeGreaterThan(0);
});

test('the same seed gives the same text, alone and in a group; other seeds give other texts', async () => {
  const model = localModel({ temperature: 1, maxTokens: 16 });
  const group = await model.generate(messages, { grammar, seeds: [5, 6, 7] });
  const alone = await ask(model, messages, { grammar, seeds: [6] });
  expect(alone.text).toBe(group[1]!.text);
  expect(new Set(group.map(({ text }) => text)).size).toBe(3);
  expect(group[0]!.usage.promptTokens).toBe(66);
  expect(group[1]!.usage).toEqual({});
});

test('a call can set its own sampling and length', async () => {
  const model = localModel({ temperature: 1, maxTokens: 24 });
  const greedy = { sampling: { temperature: 0 }, seeds: [1, 2] };
  const { text } = (await model.generate(messages, greedy))[0]!;
  expect(text).toBe(readReference('qwen2-tied-bf16-sharded').greedy_text);
  const [short] = await model.generate(messages, { ...greedy, maxTokens: 3 });
  expect(short).toMatchObject({ finishReason: 'length' });
  expect(text.startsWith(short!.text)).toBe(true);
});

test('a constrained model answers in the format', async () => {
  const model = localModel({ format: 'constrained', temperature: 1, maxTokens: 80 });
  const completions = await model.generate(messages, { grammar, seeds: [1, 2, 3, 4, 5, 6, 7, 8] });
  for (const { text, finishReason } of completions)
    expect(parseParameters(text, parameters, { finishReason, constrained: true })).toMatchObject({
      ok: true,
    });
});

test('a prompt that does not fit is rejected with token counts, and the next call works', async () => {
  const long = [{ role: 'user' as const, content: 'params '.repeat(600) }];
  const model = localModel({ maxTokens: 8 });
  await expect(ask(model, long, { grammar, seeds: [1] })).rejects.toMatchObject({
    kind: 'too-long',
    message: expect.stringMatching(/prompt has \d+ tokens, but the context only holds 512/),
  });
  const tight = localModel({ maxTokens: 8, format: 'constrained' });
  await expect(ask(tight, messages, { grammar, seeds: [1] })).rejects.toMatchObject({ kind: 'bad-request' });
  expect((await ask(model, messages, { grammar, seeds: [1] })).usage.completionTokens).toBe(8);
});

test('an abort ends the call early, and the same process serves the next one', async () => {
  const model = modelProcess();
  await model.load();
  const { pid } = model;
  const abort = new AbortController();
  const call = model.generate({ ...job, maxTokens: 400 }, abort.signal);
  setTimeout(() => abort.abort(), 20);
  await expect(call).rejects.toMatchObject({ name: 'ModelError', kind: 'aborted' });
  expect((await model.generate(job)).replies[0]!.ids).toHaveLength(12);
  expect(model.pid).toBe(pid);
});

test('a call fails with a ModelError if its process is killed, and the next call starts another process', async () => {
  const model = modelProcess();
  const before = await model.generate(job);
  const { pid } = model;
  const call = model.generate({ ...job, maxTokens: 400 });
  setTimeout(() => process.kill(pid!, 'SIGKILL'), 20);
  await expect(call).rejects.toSatisfy(
    (error: ModelError) => error.kind === 'server' && !error.fatal && /SIGKILL/.test(error.message),
  );
  const after = await model.generate(job);
  expect(after.replies).toEqual(before.replies);
  expect(model.pid).not.toBe(pid);
});

/** Runs a program of its own that prints the id of its model's process. Rejects like execFile when it is killed. */
function program(body: string, home?: string): Promise<{ stdout: string }> {
  const source = pathToFileURL(built('src/models/local/process/model-process.js')).href;
  const settings = { path, threads: 1, device: 'cpu', quantization: 'none', template: {} };
  const script = `
    import { ModelProcess } from ${JSON.stringify(source)};
    const model = new ModelProcess('local/test', ${JSON.stringify(settings)});
    const job = ${JSON.stringify(job)};
    await model.load();
    process.stdout.write(String(model.pid));
    ${body}`;
  const options = ['--input-type=module', '--eval', script];
  const env = { ...process.env, ...(home !== undefined && { HOME: home, USERPROFILE: home }) };
  return promisify(execFile)(process.execPath, options, { timeout: 25_000, env });
}

async function expectGone(pid: string): Promise<void> {
  expect(Number(pid)).toBeGreaterThan(0);
  await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/), { timeout: 120_000 });
}

test('a program with an idle model exits, ends the model process and leaves the home directory empty', async () => {
  const home = temporaryDirectory();
  const { stdout } = await program('await model.generate(job);', home);
  await expectGone(stdout);
  // The runtime's telemetry would keep a device id there.
  expect(readdirSync(home, { recursive: true })).toEqual([]);
});

test('a program that is killed during a call leaves no model process running', async () => {
  const killed = program(
    `setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20); await model.generate({ ...job, maxTokens: 400 });`,
  );
  const error: unknown = await killed.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ signal: 'SIGKILL' });
  await expectGone((error as { stdout: string }).stdout);
});
