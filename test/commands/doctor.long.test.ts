import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Examination, examinationText, examine, nodeVersion } from '../../src/preflight/doctor.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const home = temporaryDirectory();

/** Nothing is there that could be left out. */
const bare = {
  PATH: join(home, 'nothing'),
  OLLAMA_HOST: 'http://127.0.0.1:9',
  HF_HUB_CACHE: join(home, 'no-cache'),
};

/** A network on which everything answers. */
const answering = async (input: string | URL | Request, init?: RequestInit) =>
  String(input).startsWith('http://127.0.0.1') ? fetch(input, init) : new Response('');

function look(env: Record<string, string>, more: { offline?: boolean; fetch?: typeof fetch } = {}) {
  return examine({
    ...{ cwd: home, env: { ...bare, ...env }, runsDir: 'buffers', offline: false },
    fetch: answering as typeof fetch,
    ...more,
  });
}

const found = ({ checks }: Examination, wanted: string) => checks.find(({ name }) => name === wanted)!;

/** An Ollama server with these models. */
async function startOllama(models: readonly string[], login?: string) {
  const server = createServer((request, response) => {
    const isIn = login === undefined || request.headers.authorization === `Basic ${btoa(login)}`;
    response.statusCode = isIn ? 200 : 401;
    response.end(JSON.stringify(isIn ? { models: models.map((name) => ({ name })) } : { error: 'login' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const servers: ReturnType<typeof createServer>[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** A program in the place of Python. */
function fakePython(script: string): string {
  const folder = temporaryDirectory();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'python3');
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

describe('policyloop doctor', () => {
  it('finds a bare machine healthy, and gives a remedy for each missing item', async () => {
    const examination = await look({});
    expect(examination.healthy).toBe(true);
    for (const name of ['Ollama', 'Hugging Face', 'Python', 'Gymnasium', 'OPENAI_API_KEY', 'HF_TOKEN']) {
      expect(found(examination, name)).toMatchObject({
        status: 'missing',
        remedy: expect.stringMatching(/\w/),
      });
    }
    for (const name of ['Node.js', 'processor', 'memory', 'disk', 'local models', 'network']) {
      expect(found(examination, name).status).toBe('ok');
    }
    expect(found(examination, 'Ollama').remedy).toContain('ollama serve');
    expect(found(examination, 'Python').remedy).toContain('POLICYLOOP_PYTHON');
    expect(examinationText(examination).split('\n').length).toBeGreaterThan(examination.checks.length);
  });

  it('lists the models of Ollama, and suggests one to pull if there are none', async () => {
    const address = await startOllama(['qwen3:8b', 'smollm2:135m']);
    expect(found(await look({ OLLAMA_HOST: address }), 'Ollama')).toEqual({
      name: 'Ollama',
      status: 'ok',
      found: `running at http://${address}: qwen3:8b, smollm2:135m`,
    });
    const empty = await startOllama([]);
    expect(found(await look({ OLLAMA_HOST: empty }), 'Ollama')).toMatchObject({
      status: 'missing',
      remedy: 'run ollama pull qwen3:8b',
    });
    expect(found(await look({ OLLAMA_HOST: 'ftp://x' }), 'Ollama')).toMatchObject({ status: 'problem' });
  });

  it('finds Python and Gymnasium, and reports a configured Python that does not exist', async () => {
    const python = fakePython('case "$1" in --version) echo "Python 3.12.1";; *) echo 1.3.0;; esac');
    const good = await look({ POLICYLOOP_PYTHON: python });
    expect(found(good, 'Python')).toMatchObject({ status: 'ok', found: `3.12.1 (${python})` });
    expect(found(good, 'Gymnasium')).toMatchObject({ status: 'ok', found: '1.3.0' });
    const without = fakePython('case "$1" in --version) echo "Python 3.12.1";; *) exit 1;; esac');
    const plain = await look({ POLICYLOOP_PYTHON: without });
    expect(found(plain, 'Gymnasium')).toMatchObject({
      status: 'missing',
      remedy: expect.stringContaining('pip install "gymnasium[mujoco]"'),
    });
    expect(plain.healthy).toBe(true);
    const broken = await look({ POLICYLOOP_PYTHON: join(home, 'no-python') });
    expect(found(broken, 'Python')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('not found'),
    });
    expect(broken.healthy).toBe(false);
  });

  it('works without a network, and contacts only this machine with --offline', async () => {
    const asked: string[] = [];
    const failing = async (input: string | URL | Request) => {
      asked.push(new URL(String(input)).hostname);
      throw new TypeError('fetch failed');
    };
    const without = await look({}, { fetch: failing as typeof fetch });
    expect(without.healthy).toBe(true);
    expect(found(without, 'network')).toMatchObject({
      status: 'missing',
      remedy: expect.stringContaining('needed only for policyloop models pull and hosted models'),
    });
    asked.length = 0;
    const offline = await look({}, { fetch: failing as typeof fetch, offline: true });
    expect(found(offline, 'network').found).toBe('not checked (--offline)');
    expect(asked).toEqual(['127.0.0.1']);
  });

  it('reports that keys are set without showing them', async () => {
    const secret = 'a-key-that-nobody-may-see';
    const address = await startOllama(['m'], `user:${secret}`);
    const examination = await look({
      OPENAI_API_KEY: secret,
      HF_TOKEN: secret,
      OLLAMA_HOST: `http://user:${secret}@${address}`,
    });
    expect(found(examination, 'OPENAI_API_KEY')).toEqual({
      name: 'OPENAI_API_KEY',
      status: 'ok',
      found: 'set',
    });
    expect(found(examination, 'Ollama').status).toBe('ok');
    expect(JSON.stringify(examination) + examinationText(examination)).not.toContain(secret);
  });

  it('refuses a Node.js that is too old', () => {
    expect(nodeVersion('20.18.3')).toMatchObject({
      status: 'problem',
      remedy: expect.stringContaining('20.19'),
    });
    expect(nodeVersion('20.19.0').status).toBe('ok');
    expect(nodeVersion('24.1.0').status).toBe('ok');
  });
});
