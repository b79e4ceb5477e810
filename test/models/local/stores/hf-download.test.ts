/** Downloads from a hub of our own on loopback. */

import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../../../src/base/errors.js';
import { execute as pull } from '../../../../src/commands/models/pull.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { hfModelPath } from '../../../../src/models/local/stores/hf-cache.js';
import { recordingContext } from '../../../support/experiments.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { referenceDirectory } from '../fixture.js';

const sha = 'c0ffee'.padEnd(40, '0');
const source = referenceDirectory('qwen3-fp32');
const files = new Map(
  readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => [name, readFileSync(path.join(source, name))]),
);
files.set('tiny.Q8_0.gguf', Buffer.from('GGUF of a kind'));
files.set('pytorch_model.bin', Buffer.from('not wanted'));

type Json = Record<string, unknown>;

let requests: string[] = [];
let token: string | undefined;
let cut: string | undefined;
/** Changes what the hub answers. */
let twist: (answered: Json) => unknown = (answered) => answered;
let reply: { readonly status: number; readonly body: string } | undefined;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://hub');
  requests.push(`${request.method} ${url.pathname}`);
  const json = (value: Json) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(twist(value)));
  };
  if (reply !== undefined) {
    response.statusCode = reply.status;
    response.end(reply.body);
    return;
  }
  if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
    response.statusCode = 401;
    json({ error: 'Invalid username or password.' });
  } else if (/^\/api\/models\/org\/tiny\/revision\//.test(url.pathname))
    json({
      id: 'org/tiny',
      sha,
      siblings: [...files].map(([rfilename, { length }]) => ({ rfilename, size: length, blobId: sha })),
    });
  else if (/^\/org\/tiny\/resolve\//.test(url.pathname)) {
    const name = url.pathname.split('/').at(-1)!;
    const content = files.get(name)!;
    if (cut === name) response.end(content.subarray(0, content.length / 2));
    else response.end(content);
  } else {
    response.statusCode = 404;
    json({ error: 'Repository not found' });
  }
}

const server = createServer(answer);
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  requests = [];
  token = undefined;
  cut = undefined;
  twist = (answered) => answered;
  reply = undefined;
});

const root = temporaryDirectory();
let homes = 0;

function outside(more: Readonly<Record<string, string>> = {}) {
  const env = {
    HF_HOME: path.join(root, `home-${homes++}`),
    HF_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ...more,
  };
  return { env, ...recordingContext(root, { env }) };
}

const args = (model: string) => ({ model, quiet: false, json: true });

describe('models pull', () => {
  it('downloads only the files that a model needs, and none of them twice', async () => {
    const { env, context, printed } = outside();
    expect(await pull(args('hf:org/tiny'), context)).toBe(0);
    const directory = hfModelPath('hf:org/tiny', env);
    expect(JSON.parse(printed[0]!)).toEqual({ model: 'hf:org/tiny', path: directory });
    expect(readDecoderConfig(directory).architecture).toBe('qwen3');
    for (const name of ['config.json', 'tokenizer.json', 'model.safetensors'])
      expect(readFileSync(path.join(directory, name)).equals(files.get(name)!)).toBe(true);
    expect(existsSync(path.join(directory, 'pytorch_model.bin'))).toBe(false);
    expect(existsSync(path.join(directory, 'tiny.Q8_0.gguf'))).toBe(false);
    requests = [];
    expect(await pull(args('hf:org/tiny'), context)).toBe(0);
    expect(requests.filter((request) => request.includes('/resolve/'))).toEqual([]);
  });

  it('downloads only the named GGUF file', async () => {
    const { env, context } = outside();
    expect(await pull(args('hf:org/tiny@v1:tiny.Q8_0.gguf'), context)).toBe(0);
    expect(readFileSync(hfModelPath('hf:org/tiny@v1:tiny.Q8_0.gguf', env), 'utf8')).toBe('GGUF of a kind');
    expect(
      requests.filter((request) => request.includes('/resolve/')).every((one) => one.endsWith('.gguf')),
    ).toBe(true);
  });

  it('sends HF_TOKEN, and explains a refusal', async () => {
    token = 'hf_right';
    const { context } = outside({ HF_TOKEN: 'hf_right' });
    expect(await pull(args('hf:org/tiny:tiny.Q8_0.gguf'), context)).toBe(0);
    const wrong = outside({ HF_TOKEN: 'hf_wrong' });
    await expect(pull(args('hf:org/tiny'), wrong.context)).rejects.toThrow(
      /HTTP 401: the model is restricted[\s\S]*HF_TOKEN/,
    );
    await expect(pull(args('hf:org/tiny'), wrong.context)).rejects.not.toThrow(/hf_wrong/);
  });

  it('reports a download that was cut off, and completes it on the next pull', async () => {
    const { env, context } = outside();
    cut = 'model.safetensors';
    await expect(pull(args('hf:org/tiny'), context)).rejects.toThrow(
      /model.safetensors is incomplete[\s\S]*try again/,
    );
    expect(() => hfModelPath('hf:org/tiny', env)).toThrow(/contain this model/);
    cut = undefined;
    expect(await pull(args('hf:org/tiny'), context)).toBe(0);
    const stored = path.join(hfModelPath('hf:org/tiny', env), 'model.safetensors');
    expect(readFileSync(stored).equals(files.get('model.safetensors')!)).toBe(true);
  });

  it.each([
    ['hf:org/nothing', {}, /no such model/],
    ['hf:org/tiny:other.gguf', {}, /no such file[\s\S]*hf:org\/tiny:tiny\.Q8_0\.gguf/],
    ['hf:org/tiny', { HF_HUB_OFFLINE: '1' }, /HF_HUB_OFFLINE/],
    ['hf:org/tiny', { HF_ENDPOINT: 'http://127.0.0.1:9' }, /the download failed/],
    ['qwen3', {}, /not the name of a Hugging Face model/],
  ])('rejects %s with the environment %o', async (model, env, message) => {
    await expect(pull(args(model), outside(env).context)).rejects.toThrow(message);
  });
});

describe("a hub that can't be trusted", () => {
  it.each([
    ['a path as the commit', { sha: '../../../../evil' }],
    ['no commit', { sha: undefined }],
    ['a size below 0', { siblings: [{ rfilename: 'config.json', size: -1 }] }],
    ['a list nested too deep', { siblings: JSON.parse('['.repeat(300) + ']'.repeat(300)) as unknown }],
  ])('makes the pull fail without writing anything: %s', async (_, change) => {
    const { env, context } = outside();
    mkdirSync(env.HF_HOME, { recursive: true });
    twist = (body) => ({ ...body, ...change });
    await expect(pull(args('hf:org/tiny'), context)).rejects.toThrow(UserError);
    expect(readdirSync(env.HF_HOME)).toEqual([]);
    expect(readdirSync(root).filter((name) => !name.startsWith('home-'))).toEqual([]);
  });

  it("can't choose where a file is written", async () => {
    const { env, context } = outside();
    twist = ({ siblings, ...body }) => ({
      ...body,
      siblings: [...(siblings as object[]), { rfilename: '../../../../model.safetensors', size: 1 }],
    });
    expect(await pull(args('hf:org/tiny'), context)).toBe(0);
    expect(readdirSync(env.HF_HOME)).toEqual(['hub']);
    expect(readdirSync(root).filter((name) => !name.startsWith('home-'))).toEqual([]);
  });

  it("can't add a file to a split GGUF model unless it is a numbered part", async () => {
    const { env, context } = outside();
    twist = ({ siblings, ...body }) => ({
      ...body,
      siblings: [...(siblings as object[]), { rfilename: 'big-x/../../../evil-of-00002.gguf', size: 1 }],
    });
    files.set('big-00001-of-00002.gguf', Buffer.from('one'));
    files.set('big-00002-of-00002.gguf', Buffer.from('two'));
    expect(await pull(args('hf:org/tiny:big-00001-of-00002.gguf'), context)).toBe(0);
    const folder = path.dirname(hfModelPath('hf:org/tiny:big-00001-of-00002.gguf', env));
    expect(readdirSync(folder)).toEqual(['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf']);
  });

  it('never receives a name that is too long for a file system', async () => {
    const { context } = outside();
    await expect(pull(args(`hf:org/${'n'.repeat(260)}`), context)).rejects.toThrow(/273 bytes is too long/);
    await expect(pull(args(`hf:org/tiny@${'r'.repeat(260)}`), context)).rejects.toThrow(/too long/);
    expect(requests).toEqual([]);
  });

  it("can't make an error repeat the token", async () => {
    const { context } = outside({ HF_TOKEN: 'hf_token.of.the.test' });
    reply = { status: 500, body: 'no such user hf_token.of.the.test' };
    await expect(pull(args('hf:org/tiny'), context)).rejects.not.toThrow(/of\.the\.test/);
  });
});
