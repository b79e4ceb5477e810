/** Tests the MCP server with the protocol's own client library, over the input and output of a process. */
import { existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { built } from '../support/built.js';
import { startCommand } from '../support/command.js';
import { quick, runExperimentFrom, temporaryDirectory } from '../support/experiments.js';

const cwd = temporaryDirectory();
const clients: Client[] = [];

interface Answer {
  readonly isError: boolean;
  readonly text: string;
  readonly result: unknown;
}

/** A client of a server that runs in the directory with the runs. */
const connected = (...options: readonly string[]) => connectedFrom(cwd, ...options);

async function connectedFrom(cwd: string, ...options: readonly string[]) {
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1' };
  const args = [built('src/cli.js'), 'mcp', ...options];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, env }));
  clients.push(client);
  const call = async (name: string, given: Record<string, unknown> = {}): Promise<Answer> => {
    const { content, isError = false, structuredContent } = await client.callTool({ name, arguments: given });
    const [first] = content as readonly { readonly text: string }[];
    return { isError, text: first?.text ?? '', result: (structuredContent as { result?: unknown })?.result };
  };
  return { client, call };
}

beforeAll(async () => {
  writeFileSync(
    join(cwd, 'c.yaml'),
    'environment: CartPole-v1\nmodel: { provider: hill-climb }\niterations: 3\n',
  );
  const model = { provider: 'hill-climb' } as const;
  await runExperimentFrom({ ...quick, model }, { path: join(cwd, 'buffers', 'a') });
  await runExperimentFrom({ ...quick, model, seed: 1 }, { path: join(cwd, 'buffers', 'b') });
});

afterAll(() => Promise.all(clients.map((client) => client.close())));

describe('policyloop mcp', { timeout: 400_000 }, () => {
  it('by default offers only read-only tools, all of which work', async () => {
    const { call, client } = await connected();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['list_runs', 'show_run', 'show_iteration', 'compare_runs', 'environments'],
      'check_config',
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(JSON.stringify(tools).length).toBeLessThan(20_000);
    const read = async (name: string, given?: Record<string, unknown>) => {
      const answer = await call(name, given);
      expect(answer).toMatchObject({ isError: false });
      return answer.result;
    };
    expect(await read('list_runs', { sort: 'confirmed' })).toMatchObject([{}, {}]);
    expect(await read('show_run', { run: 'a', top: 2 })).toMatchObject({
      run: join('buffers', 'a'),
      status: 'completed',
      confirmed: { ci95: [expect.any(Number), expect.any(Number)] },
    });
    expect(await read('show_iteration', { run: 'latest', iteration: 1 })).toMatchObject({ iteration: 1 });
    expect(await read('compare_runs', { runs: ['a', 'b'] })).toMatchObject({ kind: 'comparison' });
    expect(await read('list_runs', { limit: 1 })).toHaveLength(1);
    expect(await read('environments', { id: 'CartPole-v1' })).toMatchObject([
      { id: 'CartPole-v1', maxSteps: 500, description: expect.stringMatching(/^A pole.*Reward: /s) },
    ]);
    const environments = (await read('environments')) as readonly object[];
    expect(environments).toContainEqual({
      id: 'CartPole-v1',
      observation: 'Box(4)',
      action: 'Discrete(2)',
      description: 'A pole stands on a cart, joined to it by a free hinge.',
    });
    expect(JSON.stringify(environments).length).toBeLessThan(12_000);
    expect(await read('check_config', { configs: ['c.yaml'], overrides: ['iterations=5'] })).toMatchObject({
      errors: 0,
    });
    expect(await read('check_config')).toMatchObject({ errors: 0 });
  });

  it('rejects hostile arguments with an error and keeps serving', async () => {
    const { call } = await connected('--allow-runs');
    const hostile: readonly (readonly [string, Record<string, unknown>])[] = [
      ['show_run', { run: '/etc' }],
      ['show_run', { run: '../../etc' }],
      ['show_run', { run: 'a/../../b' }],
      ['show_run', { run: '~/x' }],
      ['show_run', { run: 'a', json: false, runsDir: '/' }],
      ['show_run', { run: { $ne: 1 } }],
      ['show_run', {}],
      ['compare_runs', { runs: ['a'], html: '/tmp/x.html' }],
      ['environments', { id: 'gymnasium:os:system' }],
      ['environments', { id: 'textworld-express:coin' }],
      ['environments', { id: './evil.js' }],
      ['check_config', { configs: ['../c.yaml'] }],
      ['run', { config: '/etc/passwd' }],
      ['run', { config: 'c.yaml', overrides: ['environment=./evil.js'] }],
      ['run', { config: 'c.yaml', overrides: ['environment.python=/bin/sh'] }],
      ['run', { config: 'c.yaml', overrides: ['model.provider=openai'] }],
      ['run', { config: 'c.yaml', overrides: ['model.baseUrl=http://127.0.0.1:1'] }],
      ['run', { config: 'c.yaml', overrides: ['evaluation={reward: ./evil.js}'] }],
      ['run', { config: 'c.yaml', overrides: ['limits.calls=1\nmodel.apiKeyEnv=HOME'] }],
      ['run', { config: 'c.yaml', overrides: ['--run-dir=/tmp/x'] }],
      ['evaluate_run', { run: 'a', episodes: -1 }],
    ];
    for (const [name, given] of hostile) {
      const answer = await call(name, given).catch((error: Error) => ({
        isError: true,
        text: error.message,
      }));
      expect({ name, given, isError: answer.isError }).toEqual({ name, given, isError: true });
      expect(answer.text).not.toMatch(/root:|at .*\.js:\d+/);
    }
    await expect(call('remove_runs', {})).rejects.toThrow();
    expect((await call('show_run', { run: 'none' })).text).toMatch(/no such run: none/);
    expect(await call('show_run', { run: 'a' })).toMatchObject({ isError: false });
    expect(readdirSync(join(cwd, 'buffers')).toSorted()).toEqual(['a', 'b']);
  });

  it('rejects names that look like options, and configs behind a link out of its directory', async () => {
    const away = temporaryDirectory();
    writeFileSync(join(away, 'secret.yaml'), 'what-nobody-may-see: [');
    symlinkSync(away, join(cwd, 'away'));
    const { call } = await connected('--allow-runs');
    for (const config of ['--runs-dir=/elsewhere', '--workers=64', '--dry-run', '-h'])
      for (const [name, given] of [
        ['run', { config }],
        ['check_config', { configs: [config] }],
        ['show_run', { run: config }],
      ] as const)
        expect((await call(name, given)).isError).toBe(true);
    for (const name of ['away/secret.yaml', 'away'])
      expect((await call('check_config', { configs: [name] })).text).toMatch(/leads to a path outside/);
    expect((await call('list_runs', { filters: [`name=${'*a'.repeat(90)}b`] })).result).toEqual([]);
  });

  it('offers no tool that starts or controls runs without --allow-runs', async () => {
    const { call } = await connected();
    for (const name of ['run', 'resume_run', 'stop_run', 'evaluate_run'])
      await expect(call(name, { config: 'c.yaml', run: 'a', runs: ['a'] })).rejects.toThrow(
        /not found|unknown/i,
      );
  });

  it('starts, stops, resumes and evaluates runs, and a run that it starts outlives the server', async () => {
    const { call, client } = await connected('--allow-runs');
    expect(JSON.stringify(await client.listTools()).length).toBeLessThan(25_000);
    const begun = await call('run', { config: 'c.yaml', overrides: ['iterations=100000'] });
    expect(begun).toMatchObject({ isError: false, result: { ended: null } });
    const { run } = begun.result as { run: string };
    await client.close();
    const later = await connected('--allow-runs');
    expect(await later.call('show_run', { run })).toMatchObject({ result: { status: 'running' } });
    expect(await later.call('stop_run', { runs: [run] })).toMatchObject({ result: [{ run }] });
    await expect.poll(() => existsSync(join(cwd, run, 'run.lock'))).toBe(false);
    expect(await later.call('resume_run', { run })).toMatchObject({ isError: false });
    expect(await later.call('stop_run', { runs: [run] })).toMatchObject({ result: [{ run }] });
    await expect.poll(() => readManifest(join(cwd, run)).status).toBe('interrupted');
    // The process finishes its report before it ends.
    await expect.poll(() => existsSync(join(cwd, run, 'run.lock'))).toBe(false);
    expect(await later.call('evaluate_run', { run, episodes: 5 })).toMatchObject({ result: { episodes: 5 } });
    const wrong = await later.call('run', { config: 'none.yaml' });
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('none.yaml') });
    expect(readdirSync(join(cwd, 'buffers'))).toHaveLength(3);
  });

  it('serves the directory given by --project, wherever the client starts it', async () => {
    const { call } = await connectedFrom(temporaryDirectory(), '--project', cwd);
    expect(await call('show_run', { run: 'a' })).toMatchObject({ isError: false });
    expect(await call('check_config', { configs: ['c.yaml'] })).toMatchObject({ result: { errors: 0 } });
    expect((await call('show_run', { run: '../a' })).isError).toBe(true);
    const { ended } = startCommand(cwd, ['mcp', '--project', 'none']);
    expect(await ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--project.*no such.*none/is),
    });
  });

  it('prints only protocol messages, survives malformed lines and exits when its input ends', async () => {
    const { child, ended } = startCommand(cwd, ['mcp']);
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };
    const ping = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`;
    child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    child.stdin!.write('no JSON\n{"jsonrpc":"1.0"}\n[]\n\n{"jsonrpc":"2.0","id":7,"method":"no/such"}\n');
    child.stdin!.write(ping(2));
    let answered = '';
    child.stdout!.on('data', (chunk: Buffer) => (answered += chunk.toString()));
    await vi.waitFor(() => expect(answered).toContain('"id":2'), { timeout: 60_000 });
    child.stdin!.end();
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  });
});
