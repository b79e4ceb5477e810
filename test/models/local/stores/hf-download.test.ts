/** Downloads from a hub of our own on loopback. */

import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { UserError } from '../../../../src/base/errors.js';
import { execute as pull } from '../../../../src/commands/models/pull.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { hfModel } from '../../../../src/models/local/stores/hf-cache.js';
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

let requests: string[] = [];
let token: string | undefined;
let cut: string | undefined;
/** Changes what the hub answers, by the kind of the question. */
let twist: (kind: string, answered: unknown) => unknown = (_, answered) => answered;
let redirects = false;
let reply: { readonly status: number; readonly body: string } | undefined;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://hub');
  requests.push(`${request.method} ${url.pathname}`);
  const json = (value: unknown) => {
    response.setHeader('content-type', 'application/json');
    const kind = /\/(revision|tree|paths-info)\//.exec(url.pathname)?.[1] ?? '';
    response.end(JSON.stringify(twist(kind, value)));
  };
  if (reply !== undefined) {
    response.statusCode = reply.status;
    response.end(reply.body);
    return;
  }
  if (redirects && url.pathname.startsWith('/api/')) {
    response.writeHead(307, { location: `/moved${url.pathname}` });
    response.end();
    return;
  }
  url.pathname = url.pathname.replace(/^\/moved/, '');
  const entry = (name: string) => ({
    type: 'file',
    path: name,
    size: files.get(name)!.length,
    oid: Buffer.from(name).toString('hex').padEnd(40, '0').slice(0, 40),
  });
  if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
    response.statusCode = 401;
    json({ error: 'Invalid username or password.' });
  } else if (/^\/api\/models\/org\/tiny\/revision\//.test(url.pathname))
    json({
      _id: '1',
      id: 'org/tiny',
      sha,
      private: false,
      downloads: 0,
      likes: 0,
      lastModified: '2026-01-01',
    });
  else if (/^\/api\/models\/org\/tiny\/tree\//.test(url.pathname)) json([...files.keys()].map(entry));
  else if (/^\/api\/models\/org\/tiny\/paths-info\//.test(url.pathname)) {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => json((JSON.parse(body) as { paths: string[] }).paths.map(entry)));
  } else if (/^\/org\/tiny\/resolve\//.test(url.pathname)) {
    const name = url.pathname.split('/').at(-1)!;
    const content = files.get(name)!;
    response.setHeader('etag', `"${entry(name).oid}"`);
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const part = range ? content.subarray(Number(range[1]), Number(range[2]) + 1) : content;
    if (range) {
      response.statusCode = 206;
      response.setHeader('content-range', `bytes ${range[1]}-${range[2]}/${content.length}`);
    }
    response.setHeader('content-length', part.length);
    if (cut === name && !range) {
      response.write(part.subarray(0, part.length / 2));
      response.destroy();
    } else response.end(request.method === 'HEAD' ? undefined : part);
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
  twist = (_, answered) => answered;
  redirects = false;
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
    const directory = hfModel('org/tiny', env);
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
    expect(readFileSync(hfModel('org/tiny@v1:tiny.Q8_0.gguf', env), 'utf8')).toBe('GGUF of a kind');
    expect(
      requests.filter((request) => request.includes('/resolve/')).every((one) => one.endsWith('.gguf')),
    ).toBe(true);
  });

  it('sends the token, and explains a refusal', async () => {
    token = 'hf_right';
    const { context } = outside({ HF_TOKEN: 'hf_right' });
    expect(await pull(args('hf:org/tiny:tiny.Q8_0.gguf'), context)).toBe(0);
    const wrong = outside({ HF_TOKEN: 'hf_wrong' });
    await expect(pull(args('hf:org/tiny'), wrong.context)).rejects.toThrow(
      /restricts access to this model \(HTTP 401\)[\s\S]*HF_TOKEN/,
    );
    await expect(pull(args('hf:org/tiny'), wrong.context)).rejects.not.toThrow(/hf_wrong/);
  });

  it('does not list a model whose download was cut off, and completes it on the next pull', async () => {
    const { env, context } = outside();
    cut = 'model.safetensors';
    await expect(pull(args('hf:org/tiny'), context)).rejects.toThrow(/the download failed[\s\S]*try again/);
    expect(() => hfModel('org/tiny', env)).toThrow(/contain this model/);
    cut = undefined;
    expect(await pull(args('hf:org/tiny'), context)).toBe(0);
    const stored = path.join(hfModel('org/tiny', env), 'model.safetensors');
    expect(readFileSync(stored).equals(files.get('model.safetensors')!)).toBe(true);
  });

  it.each([
    ['hf:org/nothing', {}, /has no such model/],
    ['hf:org/tiny:other.gguf', {}, /no such file[\s\S]*hf:org\/tiny:tiny\.Q8_0\.gguf/],
    ['hf:org/tiny', { HF_HUB_OFFLINE: '1' }, /HF_HUB_OFFLINE/],
    ['hf:org/tiny', { HF_ENDPOINT: 'http://127.0.0.1:9' }, /the download failed/],
    ['ollama:qwen3', {}, /Ollama manages its own models[\s\S]*ollama pull/],
    ['qwen3', {}, /not a Hugging Face model/],
  ])('refuses %s with the environment %o', async (model, env, message) => {
    await expect(pull(args(model), outside(env).context)).rejects.toThrow(message);
  });
});

describe('a hub that can’t be trusted', () => {
  const outsideCache = '../../../../evil';
  const cases: readonly [string, (kind: string, answered: unknown) => unknown][] = [
    ['a commit', (kind, body) => (kind === 'revision' ? { ...(body as object), sha: outsideCache } : body)],
    ['no commit', (kind, body) => (kind === 'revision' ? { ...(body as object), sha: undefined } : body)],
    [
      'a SHA-256 as the commit',
      (kind, body) => (kind === 'revision' ? { ...(body as object), sha: 'a'.repeat(64) } : body),
    ],
    ...(['oid', 'xetHash', 'path'] as const).map(
      (key) =>
        [
          `${key} of a file`,
          (kind: string, body: unknown) =>
            kind === 'revision' ? body : (body as object[]).map((one) => ({ ...one, [key]: outsideCache })),
        ] as [string, (kind: string, answered: unknown) => unknown],
    ),
    [
      'the LFS id of a file',
      (kind, body) =>
        kind === 'paths-info'
          ? (body as object[]).map((one) => ({
              ...one,
              lfs: { oid: `${outsideCache}/x`, size: 1, pointerSize: 1 },
            }))
          : body,
    ],
    [
      'the last commit of a file',
      (kind, body) =>
        kind === 'paths-info'
          ? (body as object[]).map((one) => ({ ...one, lastCommit: { id: outsideCache } }))
          : body,
    ],
    [
      'a size below 0',
      (kind, body) => (kind === 'revision' ? body : (body as object[]).map((one) => ({ ...one, size: -1 }))),
    ],
    [
      'a list nested too deep',
      (kind, body) => (kind === 'tree' ? JSON.parse('['.repeat(300) + ']'.repeat(300)) : body),
    ],
  ];

  it.each(cases)('makes the pull fail without writing outside the cache: %s', async (_, change) => {
    const { env, context } = outside();
    mkdirSync(env.HF_HOME, { recursive: true });
    twist = change;
    await expect(pull(args('hf:org/tiny'), context)).rejects.toThrow(UserError);
    const written = readdirSync(env.HF_HOME, { recursive: true }).map(String);
    expect(written.filter((name) => /evil|snapshots/.test(name))).toEqual([]);
    expect(readdirSync(root).filter((name) => !name.startsWith('home-'))).toEqual([]);
  });

  it('is also checked after a redirect', async () => {
    twist = (kind, body) => (kind === 'revision' ? { ...(body as object), sha: outsideCache } : body);
    redirects = true;
    await expect(pull(args('hf:org/tiny'), outside().context)).rejects.toThrow(
      /the model hub sent an unusable response/,
    );
  });

  it('causes an error whose hint depends on whether HF_ENDPOINT is set', async () => {
    reply = { status: 200, body: 'not JSON' };
    await expect(pull(args('hf:org/tiny'), outside().context)).rejects.toThrow(/hint: unset HF_ENDPOINT/);
    vi.stubGlobal('fetch', async () => new Response('not JSON'));
    try {
      const unset = outside({ HF_ENDPOINT: '' }).context;
      await expect(pull(args('hf:org/tiny'), unset)).rejects.toThrow(/hint: check whether a proxy/);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('can’t add a file to a split GGUF model unless it is a numbered part', async () => {
    const { env, context } = outside();
    twist = (kind, body) =>
      kind === 'tree'
        ? [
            ...(body as object[]),
            { type: 'file', path: 'big-x/../../../evil-of-00002.gguf', size: 1, oid: sha },
          ]
        : body;
    files.set('big-00001-of-00002.gguf', Buffer.from('one'));
    files.set('big-00002-of-00002.gguf', Buffer.from('two'));
    expect(await pull(args('hf:org/tiny:big-00001-of-00002.gguf'), context)).toBe(0);
    const folder = path.dirname(hfModel('org/tiny:big-00001-of-00002.gguf', env));
    expect(readdirSync(folder)).toEqual(['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf']);
  });

  it('never receives a name that is too long for a file system', async () => {
    const { context } = outside();
    await expect(pull(args(`hf:org/${'n'.repeat(260)}`), context)).rejects.toThrow(/273 bytes is too long/);
    await expect(pull(args(`hf:org/tiny@${'r'.repeat(260)}`), context)).rejects.toThrow(/too long/);
  });

  it('can’t make an error repeat the token', async () => {
    const { context } = outside({ HF_TOKEN: 'hf_token.of.the.test' });
    reply = { status: 500, body: 'no such user hf_token.of.the.test' };
    await expect(pull(args('hf:org/tiny'), context)).rejects.not.toThrow(/of\.the\.test/);
  });
});
