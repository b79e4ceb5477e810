import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type HostedStartArguments,
  hostedCancelCommand,
  hostedFollowCommand,
  hostedListCommand,
  hostedStartCommand,
} from '../../finetune/commands/hosted.js';
import { configSchema } from '../../src/config/config.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { type Stage, startFakeFineTuning } from '../support/fake-fine-tuning.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

const key = 'sk-canary-0123456789abcdef';
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const answers = (count: number, weight = 1) =>
  Array.from({ length: count }, (_, i) => ({
    prompt: [{ role: 'user', content: `f(params): ${i}` }],
    completion: `params[0]: ${i}.5`,
    weight,
    lineage: { run: 'a' },
  }));
const pairs = [
  { prompt: [{ role: 'user', content: 'f' }], chosen: 'params[0]: 1', rejected: 'params[0]: 2', weight: 1 },
];

function workplace(train: readonly object[], validation: readonly object[] = []) {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  const write = (name: string, rows: readonly object[]) =>
    writeFileSync(join(cwd, 'data', name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  write('train.jsonl', train);
  write('validation.jsonl', validation);
  const recorded = recordingContext(cwd, { env: { OPENAI_API_KEY: key } });
  const output = () => [...recorded.printed, ...recorded.noted].join('\n');
  return { cwd, output, ...recorded };
}

async function serve(
  stages: readonly Stage[],
  options: Partial<Parameters<typeof startFakeFineTuning>[0]> = {},
) {
  const server = await startFakeFineTuning({ stages, apiKey: key, ...options });
  open.push(server);
  return server;
}

const started = (baseUrl: string, changes: Partial<HostedStartArguments> = {}): HostedStartArguments => ({
  dataset: 'data',
  model: 'small-1',
  baseUrl,
  json: false,
  ...changes,
});

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing thrown',
    (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
  );

describe('finetune hosted', () => {
  it('uploads both splits, starts a job, and follows it to a model that a config can name', async () => {
    const server = await serve(
      [
        { status: 'validating_files', events: [{ message: 'Validating' }] },
        { status: 'running', events: [{ message: 'Step 1: loss 1.5' }, { message: 'slow', level: 'warn' }] },
        { status: 'succeeded', result: 'ft:small-1:x', events: [{ message: 'Done' }, { message: 'Bye' }] },
      ],
      { trainedTokens: 1234 },
    );
    const { context, cwd, printed, noted, output } = workplace(answers(12), answers(2));
    expect(await hostedStartCommand(started(server.url, { epochs: 2, seed: 7, suffix: 'a' }), context)).toBe(
      0,
    );
    expect(server.files.map(({ purpose, rows }) => [purpose, rows.length])).toEqual([
      ['fine-tune', 12],
      ['fine-tune', 2],
    ]);
    expect(server.files[0]!.rows[3]).toEqual({
      messages: [
        { role: 'user', content: 'f(params): 3' },
        { role: 'assistant', content: 'params[0]: 3.5' },
      ],
    });
    expect(server.jobs).toEqual([
      {
        model: 'small-1',
        training_file: 'file-1',
        validation_file: 'file-2',
        method: { type: 'supervised', supervised: { hyperparameters: { n_epochs: 2 } } },
        seed: 7,
        suffix: 'a',
      },
    ]);
    const record = join('data', 'hosted', 'ftjob-1.json');
    expect(printed.join('\n')).toContain(`policyloop finetune hosted follow ${record}`);
    expect(printed.join('\n')).toMatch(/cost .*names neither price nor limit/);

    // The record alone says which server.
    expect(await hostedFollowCommand({ job: record, interval: 0.001, json: false }, context)).toBe(0);
    const shown = noted.join('\n');
    const order = ['Validating', 'Step 1', 'warn: slow', 'Done', 'Bye'].map((text) => shown.indexOf(text));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(shown.match(/Validating/g)).toHaveLength(1);
    expect(printed.join('\n')).toMatch(/ft:small-1:x, 1\.2k tokens trained on/);
    const line = /model: (\{.*\})/.exec(printed.join('\n'))![1]!;
    expect(configSchema.parse({ environment: 'CartPole-v1', model: JSON.parse(line) }).model).toMatchObject({
      provider: 'openai',
      name: 'ft:small-1:x',
      baseUrl: server.url,
    });
    expect(JSON.parse(readFileSync(join(cwd, record), 'utf8'))).toMatchObject({
      status: 'succeeded',
      result: 'ft:small-1:x',
      trainedTokens: 1234,
      files: { training: { id: 'file-1', rows: 12 } },
    });
    expect(output()).not.toContain('canary');
    expect(readFileSync(join(cwd, record), 'utf8')).not.toContain('canary');
  });

  it('sends pairs for dpo, and says what a method lacks', async () => {
    const server = await serve([{ status: 'queued' }]);
    const { context } = workplace(pairs);
    expect(await hostedStartCommand(started(server.url), context)).toBe(0);
    expect(server.jobs[0]).toMatchObject({ method: { type: 'dpo', dpo: { hyperparameters: {} } } });
    expect(server.files[0]!.rows[0]).toEqual({
      input: { messages: [{ role: 'user', content: 'f' }] },
      preferred_output: [{ role: 'assistant', content: 'params[0]: 1' }],
      non_preferred_output: [{ role: 'assistant', content: 'params[0]: 2' }],
    });
    expect(await messageOf(hostedStartCommand(started(server.url, { method: 'sft' }), context))).toMatch(
      /UserError: --method: sft needs single answers; this dataset holds pairs/,
    );
    expect(server.jobs).toHaveLength(1);
  });

  it('leaves out what is not to be imitated, and says that weights are lost', async () => {
    const server = await serve([{ status: 'queued' }]);
    const { context, noted } = workplace([...answers(3, 2), ...answers(2), ...answers(4, -1)]);
    expect(await hostedStartCommand(started(server.url), context)).toBe(0);
    expect(server.files[0]!.rows).toHaveLength(5);
    expect(noted.join('\n')).toMatch(/takes no weight/);
    expect(noted.join('\n')).toMatch(/4 examples with a weight of 0 or less are left out/);
    expect(noted.join('\n')).toMatch(/only 5 examples/);
  });

  it('a job that fails says why, without the key or control characters', async () => {
    const server = await serve([
      { status: 'running' },
      { status: 'failed', error: { code: 'invalid', message: `\u001b[31mbad rows for ${key}\u0007` } },
    ]);
    const { context, printed, output } = workplace(answers(12));
    await hostedStartCommand(started(server.url), context);
    const job = { job: 'ftjob-1', interval: 0.001, json: false, baseUrl: server.url };
    expect(await hostedFollowCommand(job, context)).toBe(1);
    expect(printed.at(-1)).toMatch(/^failed +invalid: .*bad rows for \[redacted\]$/);
    expect(output()).not.toContain('canary');
    expect(output().includes('\u001b[31mbad')).toBe(false);
  });

  it('cancels, and lists', async () => {
    const server = await serve([{ status: 'running' }]);
    const { context, cwd, printed } = workplace(answers(12));
    await hostedStartCommand(started(server.url), context);
    const record = join('data', 'hosted', 'ftjob-1.json');
    expect(await hostedCancelCommand({ job: record, json: false }, context)).toBe(0);
    expect(printed.at(-1)).toBe('ftjob-1 cancelled');
    expect(JSON.parse(readFileSync(join(cwd, record), 'utf8'))).toMatchObject({ status: 'cancelled' });
    expect(await hostedFollowCommand({ job: record, interval: 0.001, json: false }, context)).toBe(1);
    expect(await hostedListCommand({ limit: 5, json: false, baseUrl: server.url }, context)).toBe(0);
    expect(printed.at(-1)).toMatch(/ftjob-1 +cancelled +2023-11-14 22:13 +small-1/);
  });

  it('Ctrl-C ends the following and leaves the job alone', async () => {
    const server = await serve([{ status: 'running' }]);
    const finish = new AbortController();
    const { context, noted } = workplace(answers(12));
    await hostedStartCommand(started(server.url), context);
    const stoppable = { ...context, stop: { ...context.stop, finish: finish.signal } };
    const following = hostedFollowCommand(
      { job: 'ftjob-1', interval: 3600, json: false, baseUrl: server.url },
      { ...stoppable, note: (text) => [context.note(text), text.includes('running') && finish.abort()] },
    );
    expect(await following).toBe(130);
    expect(noted.at(-1)).toMatch(/^the job goes on; policyloop finetune hosted follow ftjob-1/);
    expect(server.requests.some(({ path }) => path.endsWith('/cancel'))).toBe(false);
  });

  it('goes on after what a retry mends, but makes a job only once', async () => {
    const server = await serve([{ status: 'queued' }], {
      faults: { script: [{ kind: 'rate-limit' }, undefined, { kind: 'cut' }] },
    });
    const { context, noted } = workplace(answers(12));
    // The first request is the upload, tried again; the third is the job, whose answer is lost.
    expect(await hostedStartCommand(started(server.url), context)).toBe(1);
    expect(server.files).toHaveLength(2);
    expect(server.jobs).toHaveLength(1);
    expect(noted.join('\n')).toMatch(/no answer from/);
  });
});

describe('what is refused', () => {
  it('says that a server has no fine-tuning API', async () => {
    const server = await startFakeOpenAI({ reply: () => '' });
    open.push(server);
    const { context } = workplace(answers(12));
    const message = await messageOf(hostedStartCommand(started(server.url), context));
    expect(message).toMatch(/UserError: --base-url: this server has no fine-tuning API of OpenAI’s kind/);
    expect(message).toMatch(/finetune train and finetune export/);
  });

  it('names the variable of a wrong or missing key, never the key', async () => {
    const server = await serve([{ status: 'queued' }], { apiKey: 'another' });
    const { context, cwd } = workplace(answers(12));
    const message = await messageOf(hostedStartCommand(started(server.url), context));
    expect(message).toMatch(/UserError: --api-key-env: .*HTTP 401.*\[redacted\].*OPENAI_API_KEY/);
    expect(message).not.toContain('canary');
    const keyless = { ...context, env: {} };
    expect(await messageOf(hostedStartCommand(started('https://example.invalid/v1'), keyless))).toMatch(
      /--api-key-env: the API key is missing/,
    );
    expect(readdirSync(join(cwd, 'data'))).not.toContain('hosted');
  });

  it('passes on what the server finds wrong', async () => {
    const server = await serve([{ status: 'queued' }], { refusesJobs: 'file-1 has too few examples' });
    const { context } = workplace(answers(3));
    expect(await messageOf(hostedStartCommand(started(server.url), context))).toMatch(
      /UserError: the server refuses this: .*too few examples/,
    );
  });

  it('says what is wrong with a dataset, by line, before anything is sent', async () => {
    const server = await serve([{ status: 'queued' }]);
    const refusal = (rows: readonly object[]) => {
      const { context } = workplace(rows);
      return messageOf(hostedStartCommand(started(server.url), context));
    };
    expect(await refusal([])).toMatch(/train\.jsonl is empty/);
    expect(await refusal([...answers(1), { prompt: [], completion: 'a' }])).toMatch(/train\.jsonl:2: prompt/);
    expect(await refusal([...answers(1), ...pairs])).toMatch(/train\.jsonl:2: completion/);
    expect(await refusal([{ prompt: [{ role: 'assistant', content: 'a' }], completion: 'b' }])).toMatch(
      /the last message before an answer must be the user’s/,
    );
    expect(server.requests).toHaveLength(0);
  });

  it('refuses a record that is none, and a job that is not known', async () => {
    const server = await serve([{ status: 'queued' }]);
    const { context, cwd } = workplace(answers(12));
    writeFileSync(join(cwd, 'x.json'), '{}');
    const follow = (job: string) =>
      messageOf(hostedFollowCommand({ job, interval: 1, json: false, baseUrl: server.url }, context));
    expect(await follow('x.json')).toMatch(/x\.json: this is no record of a hosted job/);
    expect(await follow('nowhere.json')).toMatch(/there is no such record/);
    expect(await follow('ftjob-2')).toMatch(/the server knows no such job/);
  });
});
