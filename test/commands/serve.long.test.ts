import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { execute as serveCommand } from '../../src/commands/serve.js';
import { referenceDirectory } from '../models/local/fixture.js';
import { messages, path, post, send, stream } from '../serve/local-server.js';
import { built } from '../support/built.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

type ServeArguments = Parameters<typeof serveCommand>[0];

const args: ServeArguments = {
  model: path,
  adapter: [],
  host: '127.0.0.1',
  port: 0,
  device: 'cpu',
  quantization: 'none',
  threads: 1,
  template: [],
  option: [],
  stdio: false,
  json: true,
};
const name = 'qwen2-tied-bf16-sharded';

/** A served model, and the two signals that end it. */
async function served(changes: Partial<ServeArguments> = {}) {
  const [finish, abort] = [new AbortController(), new AbortController()];
  const stop = { finish: finish.signal, abort: abort.signal };
  const { context, printed, noted } = recordingContext(temporaryDirectory(), { stop });
  const ended = serveCommand({ ...args, ...changes }, context);
  await vi.waitFor(() => expect(printed).toHaveLength(1), { timeout: 20_000 });
  return { ended, finish, abort, printed, noted };
}

describe('policyloop serve', () => {
  it('prints its address when ready, and finishes pending replies on the first Ctrl-C', async () => {
    const { ended, finish, printed, noted } = await served();
    const ready = JSON.parse(printed[0]!) as { url: string };
    expect(ready).toMatchObject({ model: name, device: 'cpu', threads: 1, contextTokens: 512 });
    expect(ready.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    const reply = await stream(ready.url, { messages, max_tokens: 300, seed: 8 }, () => finish.abort());
    expect(reply.trimEnd()).toMatch(/data: \[DONE\]$/);
    expect(await ended).toBe(0);
    expect(noted.at(-1)).toMatch(/chat\/completions 200 \d+ tokens in \(0 cached\), 300 out/);
    await expect(send(ready.url.replace('/v1', '/health'))).rejects.toThrow(/ECONNREFUSED/);
  });

  it('serves adapters under their given names, or else under the names of their directories', async () => {
    const adapter = join(path, 'adapter-after-12-steps');
    const { ended, finish, printed, noted } = await served({ adapter: [`tuned=${adapter}`, adapter] });
    const { url, adapters } = JSON.parse(printed[0]!) as { url: string; adapters: string[] };
    expect(adapters).toEqual(['tuned', 'adapter-after-12-steps']);
    expect(noted).toContainEqual(expect.stringMatching(/; with adapters: tuned, adapter-after-12-steps$/));
    const text = async (model: string) =>
      JSON.parse((await post(url, { messages, model, seed: 1, max_tokens: 20, temperature: 0 })).body)
        .choices[0].message.content as string;
    expect(await text('tuned')).toBe(await text('adapter-after-12-steps'));
    expect(await text('tuned')).not.toBe(await text(name));
    finish.abort();
    expect(await ended).toBe(0);
  });

  it('aborts pending replies on the second Ctrl-C', async () => {
    const { ended, finish, abort, printed } = await served({ json: false });
    const url = printed[0]!;
    const reply = await stream(url, { messages, max_tokens: 440, seed: 8 }, () => {
      finish.abort();
      abort.abort();
    });
    expect(reply).not.toContain('[DONE]');
    expect(await ended).toBe(0);
  });

  it('names a model in the Hugging Face cache after its repository, not a hash', async () => {
    const model = join(temporaryDirectory(), 'models--owner--tiny', 'snapshots', '0123abcd');
    cpSync(path, model, { recursive: true });
    const { ended, finish, printed } = await served({ model });
    const { url, ...ready } = JSON.parse(printed[0]!) as { url: string };
    expect(ready).toMatchObject({ model: 'owner/tiny' });
    for (const written of ['owner/tiny', 'owner%2Ftiny'])
      expect(JSON.parse((await send(`${url}/models/${written}`)).body)).toMatchObject({ id: 'owner/tiny' });
    finish.abort();
    expect(await ended).toBe(0);
  });

  it('also serves on ::1 if the machine has IPv6', async () => {
    const { ended, finish, printed } = await served({ host: '::1', json: false }).catch((error: unknown) => {
      // A machine without IPv6.
      expect(String(error)).toMatch(/no such address/);
      return { ended: Promise.resolve(0), finish: new AbortController(), printed: [] };
    });
    for (const url of printed) {
      expect(url).toMatch(/^http:\/\/\[::1\]:/);
      expect((await send(url.replace('/v1', '/health'))).status).toBe(200);
    }
    finish.abort();
    expect(await ended).toBe(0);
  });
});

describe('policyloop serve in a shell', () => {
  it('ends cleanly at Ctrl-C', async () => {
    const adapter = join(path, 'adapter-after-12-steps');
    const flags = ['serve', '--model', path, '--port', '0', '--device', 'cpu', '--json', '--template', 'a=1'];
    flags.push('--adapter', `one=${adapter}`, '--adapter', `two=${adapter}`);
    const child = spawn(process.execPath, [built('src/cli.js'), ...flags]);
    let [stdout, stderr] = ['', ''];
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const ended = new Promise((done) => child.on('close', done));
    await new Promise<void>((ready) => {
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        if (stdout.endsWith('\n')) ready();
      });
    });
    const { url } = JSON.parse(stdout) as { url: string };
    expect((await send(`${url}/models/one`)).status).toBe(200);
    expect((await send(`${url}/models/two`)).status).toBe(200);
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(stderr).toMatch(/finishing|answering/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('policyloop serve refuses', () => {
  const refused: readonly (readonly [string, Partial<ServeArguments>, RegExp])[] = [
    ['a directory that is not there', { model: 'nowhere' }, /^--model: there is no such directory/],
    [
      'another address',
      { host: '0.0.0.0' },
      /^--host: servers only accept connections from this machine[\s\S]*127\.0\.0\.1, ::1/,
    ],
    ['a wrong port', { port: 70_000 }, /^--port: isn't a valid port/],
    ['an unknown device', { device: 'tpu' }, /^--device: /],
    [
      'a device that is not there',
      { device: process.platform === 'win32' ? 'coreml' : 'dml' },
      /^--device: this device can't be used/,
    ],
    ['an unknown quantization', { quantization: 'int2' }, /^--quantization: /],
    ['too small a context', { contextTokens: 1 }, /^--context-tokens: /],
    [
      'a directory that holds no adapter',
      { adapter: ['tuned=nowhere'] },
      /^--adapter: there is no such directory[\s\S]*nowhere/,
    ],
    [
      'an adapter of another model',
      { adapter: [join(referenceDirectory('qwen3-fp32'), 'adapter-after-12-steps')] },
      /this adapter belongs to another model/,
    ],
    [
      'two adapters of one name',
      { adapter: ['a/tuned', 'tuned=b'] },
      /^--adapter: two adapters have the name tuned[\s\S]*name=directory/,
    ],
    [
      'an adapter with the name of the model',
      { adapter: [`${name}=a`] },
      /^--adapter: an adapter can't have the model's name/,
    ],
    ['a variable without a value', { template: ['thinking'] }, /^--template: must be name=value/],
  ];
  it.each(refused)('%s', async (_name, changes, pattern) => {
    const { context } = recordingContext(temporaryDirectory());
    const error: unknown = await serveCommand({ ...args, ...changes }, context).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'UserError', message: expect.stringMatching(pattern) });
  });

  it('a port that is already in use', async () => {
    const { ended, finish, printed } = await served({ json: false });
    const port = Number(new URL(printed[0]!).port);
    const { context } = recordingContext(temporaryDirectory());
    await expect(serveCommand({ ...args, port }, context)).rejects.toThrow(
      /--port: this port is already in use/,
    );
    finish.abort();
    expect(await ended).toBe(0);
  });
});
