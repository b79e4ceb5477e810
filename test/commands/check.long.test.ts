import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { execute as checkCommand } from '../../src/commands/check.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { bundledConfigs } from '../../src/config/file.js';
import { loadConfig } from '../../src/config/load.js';
import type { Finding } from '../../src/experiment/preflight/findings.js';
import type { RunEstimate } from '../../src/experiment/preflight/run-estimate.js';
import { readManifest } from '../../src/runs/reader.js';
import { resumeRun } from '../../src/studies/resume.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOllama } from '../support/fake-ollama.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

interface Checked {
  readonly code: number;
  readonly findings: readonly Finding[];
  readonly text: string;
}

async function check(
  text: string,
  options: {
    readonly overrides?: readonly string[];
    readonly online?: boolean;
    readonly strict?: boolean;
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
  } = {},
): Promise<Checked> {
  const cwd = options.cwd ?? temporaryDirectory();
  const file = join(cwd, 'my.yaml');
  writeFileSync(file, text);
  const ask = async (json: boolean) => {
    const { context, printed } = recordingContext(cwd, { env: options.env ?? {} });
    const configs = [file, ...(options.overrides ?? [])];
    const flags = { offline: options.online !== true, strict: options.strict ?? false, json };
    return { code: await checkCommand({ configs, ...flags }, context), output: printed.join('\n') };
  };
  const { code, output } = await ask(true);
  const report = JSON.parse(output) as { configs: [{ findings: readonly Finding[] }] };
  return { code, findings: report.configs[0].findings, text: (await ask(false)).output };
}

const bad = ({ findings }: Checked) => findings.filter(({ level }) => level !== 'ok');
const model = 'model: { provider: ollama, name: tiny }\n';
/** A reply that a run of CartPole-v1 would use. */
const proposal = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.${i}`).join(', ');

describe('policyloop check', () => {
  const ready = bundledConfigs().filter(
    (name) => name.endsWith('-semantic') || (name.startsWith('providers/') && name !== 'providers/local'),
  );

  it.each(ready)('finds nothing wrong with %s', async (name) => {
    const { config } = loadConfig({ file: name });
    const key = 'apiKeyEnv' in config.model ? config.model.apiKeyEnv : 'OPENAI_API_KEY';
    const { context, printed } = recordingContext(temporaryDirectory(), { env: { [key]: 'sk-x' } });
    const code = await checkCommand({ configs: [name], offline: true, strict: true, json: true }, context);
    const { configs } = JSON.parse(printed.join('')) as { configs: readonly Checked[] };
    expect(configs.flatMap(bad)).toEqual([]);
    expect(code).toBe(0);
  });

  it('prints level, field, location, finding and hint', async () => {
    const { code, text } = await check(
      `environment: FrozenLake-v1\n${model}prompts: { set: semantic, optimum: 2 }\n`,
    );
    expect(code).toBe(0);
    expect(text).toMatch(/^ok {7}policy +q-table, 16 parameters from 0 to 3$/m);
    expect(text).toMatch(
      /^warning {2}prompts\.optimum +\S*my\.yaml:3:\d+: exceeds 1, .*an episode of FrozenLake-v1$/m,
    );
    expect(text).toMatch(/^ +got: 2$/m);
    expect(text).toMatch(/^ +hint: set prompts\.optimum=1 or lower/m);
    expect(text).toMatch(/^0 errors, 1 warning$/m);
  });

  it('fails on warnings with --strict', async () => {
    const text = `environment: CartPole-v1\n${model}target: 600\n`;
    expect((await check(text)).code).toBe(0);
    const { code, findings } = await check(text, { strict: true });
    expect(code).toBe(2);
    expect(findings).toContainEqual(
      expect.objectContaining({ level: 'warning', field: 'target.return', value: 600 }),
    );
  });

  it('applies overrides to the config', async () => {
    const overrides = ['environment=Pendulum-v1', 'prompts.optimum=5'];
    const { findings } = await check(`environment: CartPole-v1\n${model}`, { overrides });
    expect(findings).toContainEqual(
      expect.objectContaining({ field: 'environment', message: 'Pendulum-v1' }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ level: 'warning', field: 'prompts.optimum' }));
  });
});

describe('policyloop check explains', () => {
  it('a missing API key together with a misspelt environment id or a missing prompt set', async () => {
    const both = await check(
      'environment: Cartpole-v1\nmodel: { provider: openai, name: gpt-5-mini }\nprompts: { set: ./none }\n',
    );
    expect(both.code).toBe(2);
    expect(bad(both).map(({ field, level }) => `${level} ${field}`)).toEqual([
      'error model.apiKeyEnv',
      'error environment',
    ]);
    expect(both.text).toContain('did you mean `CartPole-v1`?');
    const rest = await check(
      'environment: CartPole-v1\nmodel: { provider: openai, name: gpt-5-mini }\nprompts: { set: ./none }\n',
    );
    expect(bad(rest)).toEqual([
      expect.objectContaining({
        level: 'error',
        field: 'model.apiKeyEnv',
        message: expect.stringContaining('OPENAI_API_KEY'),
      }),
      expect.objectContaining({ level: 'error', field: 'prompts.set', message: 'there is no such folder' }),
    ]);
  });

  it('a prompt set that lacks a file, or uses an unknown variable', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'set'));
    const text = `environment: CartPole-v1\n${model}prompts: { set: ./set }\n`;
    expect((await check(text, { cwd })).text).toContain('the prompt set lacks system.hbs');
    for (const name of ['system', 'user', 'format-correction']) {
      writeFileSync(join(cwd, 'set', `${name}.hbs`), 'Improve {{parameters.number}} parameters.');
    }
    const { code, text: shown } = await check(text, { cwd });
    expect(code).toBe(2);
    expect(shown).toMatch(/system\.hbs:1:\d+: /);
  });

  it('a template with a hard-coded number of parameters, or without the answer format', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'set'));
    const set = (system: string) => {
      writeFileSync(join(cwd, 'set', 'system.hbs'), system);
      writeFileSync(join(cwd, 'set', 'user.hbs'), 'Iteration {{iteration}}.');
      writeFileSync(join(cwd, 'set', 'format-correction.hbs'), 'Again.');
    };
    const text = `environment: CartPole-v1\n${model}prompts: { set: ./set }\n`;
    set('Answer with params[0] to params[15].');
    expect((await check(text, { cwd })).text).toContain(
      'the prompt mentions params[15], but the last parameter of the policy is params[9]',
    );
    set('Answer well.');
    expect((await check(text, { cwd })).text).toContain('never shows how to write parameters');
  });

  it('a maxTokens too small for an answer, a memory budget that is too small, and a limit that the first call could exceed', async () => {
    const of = (more: string) => `environment: HalfCheetah-v5\n${more}`;
    const cut = await check(of('model: { provider: ollama, name: tiny, maxTokens: 64 }\n'));
    expect(cut.code).toBe(2);
    expect(cut.text).toContain('an answer with 108 parameters takes at least');
    const memory = await check(of(`${model}memory: { tokens: 300 }\n`));
    expect(bad(memory).map(({ field }) => field)).toEqual(['memory.tokens']);
    const limit = await check(of(`${model}limits: { tokens: 1000 }\n`));
    expect(limit.text).toContain('the first call could already exceed this limit');
    expect(limit.code).toBe(2);
  });
});

describe('a memory budget that hides evaluations', () => {
  const config = (more: string) => `environment: CartPole-v1\niterations: 400\n${model}memory: {${more}}\n`;
  const hidden = async (text: string, overrides: readonly string[] = []) => {
    const { findings } = await check(text, { overrides });
    return findings.find(({ field, level }) => field === 'memory.tokens' && level === 'warning');
  };

  it('causes a warning with the number of evaluations shown and a budget that shows all', async () => {
    const finding = await hidden(config('tokens: 16000'));
    expect(finding?.message).toMatch(/has room for about 1\d\d of the 419 evaluations/);
    const enough = /memory\.tokens=(\d+)/.exec(finding!.hint!)![1]!;
    expect(await hidden(config('tokens: 16000'), [`memory.tokens=${enough}`])).toBeUndefined();
  });

  it('causes a warning only if the memory settings select more evaluations than fit', async () => {
    expect(await hidden(config('best: 20, recent: 50'))).toBeUndefined();
    expect((await hidden(config('best: 20, recent: 50, tokens: 4000')))?.message).toContain('of the 70');
    expect(await hidden(config('best: 0, recent: 0, tokens: 100'))).toBeUndefined();
    expect(await hidden(config('tokens: 16000'), ['iterations=100'])).toBeUndefined();
    expect(await hidden(config('tokens: 16000'), ['model.provider=random', 'model.name='])).toBeUndefined();
  });
});

describe('the length of prompts', () => {
  const long = 'environment: CartPole-v1\niterations: 150\nmemory: { tokens: 24000 }\n';

  it('is compared with the context length', async () => {
    const context = (tokens: number) =>
      check(`${long}model: { provider: ollama, name: tiny, maxTokens: 300, contextTokens: ${tokens} }\n`);
    expect((await context(32_000)).findings).toContainEqual(
      expect.objectContaining({
        level: 'ok',
        field: 'context',
        message: expect.stringContaining('of 32000 tokens'),
      }),
    );
    const short = await context(2048);
    expect(short.code).toBe(2);
    expect(bad(short)).toEqual([
      expect.objectContaining({
        level: 'error',
        field: 'memory.tokens',
        message: expect.stringContaining('2048'),
      }),
    ]);
  });

  it('causes only a warning if a target or a limit can end the run earlier', async () => {
    const config = `${long}model: { provider: ollama, name: tiny, maxTokens: 300, contextTokens: 3072 }\n`;
    expect((await check(config)).code).toBe(2);
    for (const override of ['target=400', 'limits.calls=30']) {
      const { code, findings } = await check(config, { overrides: [override] });
      expect(code).toBe(0);
      expect(findings).toContainEqual(expect.objectContaining({ level: 'warning', field: 'memory.tokens' }));
    }
  });

  it('grows with iterations, candidates and parameters, up to the memory budget', async () => {
    const length = async (overrides: readonly string[]) => {
      const { findings } = await check(`environment: CartPole-v1\n${model}`, { overrides });
      const { message } = findings.find(({ field }) => field === 'context')!;
      return Number(/the last about (\d+)/.exec(message)![1]);
    };
    const few = await length(['iterations=5']);
    const more = await length(['iterations=50']);
    const candidates = await length(['iterations=50', 'candidates=3']);
    const wide = await length(['iterations=50', 'environment=HalfCheetah-v5', 'memory.tokens=1000000']);
    expect(few).toBeLessThan(more);
    expect(more).toBeLessThan(candidates);
    expect(candidates).toBeLessThan(wide);
    expect(await length(['iterations=50', 'memory.best=3', 'memory.recent=3'])).toBeLessThan(more);
    const capped = ['iterations=5000', 'memory.tokens=4000'];
    expect(await length(capped)).toBeLessThan(4000 + few);
    expect(await length(['iterations=50', 'memory.trajectories=rows'])).toBeGreaterThan(more);
  });

  it('is used to estimate tokens and cost', async () => {
    const { findings } = await check(
      `environment: CartPole-v1\nmodel: { provider: ollama, name: tiny, maxTokens: 500, price: { input: 1, output: 10 } }\niterations: 20\ncorrections: 1\nlimits: { cost: 0.0201 }\n`,
    );
    const { estimate, message } = findings.find(({ field }) => field === 'estimate') as Finding & {
      estimate: RunEstimate;
    };
    const { calls, completionTokens, cost, promptTokens } = estimate;
    const last = Math.floor((20 * 0.0201) / cost!.expected);
    expect(message).toMatch(/^about 20 calls \(40 with all corrections\)/);
    expect(message).toContain(`; limits.cost ends the run after about ${last} iterations`);
    expect(calls).toEqual({ expected: 20, most: 40 });
    expect(completionTokens.most).toBe(40 * 500);
    expect(promptTokens.most).toBeGreaterThan(2 * promptTokens.expected);
    expect(cost!.expected).toBeCloseTo((promptTokens.expected + 10 * completionTokens.expected) / 1e6, 10);
  });

  it('does not matter with a baseline, which needs no tokens', async () => {
    const { findings } = await check('environment: CartPole-v1\nmodel: { provider: random }\n');
    expect(findings.at(-1)).toMatchObject({
      field: 'estimate',
      message: '100 iterations; no tokens, no cost; confirmed in at most 400 episodes',
    });
  });
});

describe('the model', () => {
  it('is asked for the first proposal of a run unless the check is offline', async () => {
    const server = await startFakeOpenAI({ reply: () => proposal });
    const text = `environment: CartPole-v1\nmodel: { provider: openai, name: tiny, baseUrl: "${server.url}" }\n`;
    await check(text);
    expect(server.requests).toEqual([]);
    const { code, findings } = await check(text, { online: true });
    expect(code).toBe(0);
    expect(server.requests).toHaveLength(2); // once as JSON, once as text
    expect(findings).toContainEqual({
      level: 'ok',
      field: 'model',
      message: expect.stringMatching(
        /^openai\/tiny answers \(.+, [\d,]{3,} tokens in, \d+ out, format \w+\); a run would accept the reply: 10 parameters in range$/,
      ),
    });
    const prompt = JSON.stringify(server.requests[0]);
    expect(prompt.match(/f\(params\): \d/g)!.length).toBeGreaterThanOrEqual(20);
  });

  it.each([
    [
      'params[0]: 1.0, params[1]: 2.0',
      /: Found 2 of 10 parameters.* It begins: “params\[0\]: 1\.0, params\[1\]: 2\.0”/,
      /a run asks again up to 3 times/,
    ],
    ['', /: .* It is empty\./, /the model gave an empty reply: if the prompt is too long/],
    [
      Array.from({ length: 10 }, (_, i) => `params[${i}]: ${90 + i}.0`).join(', '),
      /: Not within −6 to 6/,
      /a model\.format that enforces the answer/,
    ],
  ])('causes a warning if a run would reject its reply: %j', async (reply, message, hint) => {
    const server = await startFakeOpenAI({ reply: () => reply });
    const text = `environment: CartPole-v1\nmodel: { provider: openai, name: tiny, baseUrl: "${server.url}", maxRetries: 0 }\n`;
    const checked = await check(text, { online: true });
    expect(checked.code).toBe(0);
    expect(bad(checked)).toEqual([
      expect.objectContaining({
        level: 'warning',
        field: 'model',
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      }),
    ]);
    expect(bad(checked)[0]!.message).toMatch(/answers \(.*\), but a run would reject this reply/);
  });

  it('shows how much of the prompt it has read, if it is local', async () => {
    const { context, noted } = recordingContext(temporaryDirectory());
    await checkCommand({ configs: ['quickstart'], offline: false, strict: false, json: false }, context);
    expect(noted.join('\n')).toMatch(/^testing the model: prompt token (\d+)\/\1$/m);
  });

  it('causes an error with a hint if the server does not have it', async () => {
    const server = await startFakeOllama({ reply: () => proposal, models: ['other'] });
    const { code, text } = await check(
      `environment: CartPole-v1\nmodel: { provider: ollama, name: tiny, host: "${server.url}" }\n`,
      { online: true },
    );
    expect(code).toBe(2);
    expect(text).toMatch(/^error {4}model +.*did not answer: .*ollama pull tiny/m);
  });

  it('takes its context length from a server that reports it', async () => {
    const server = await startFakeOllama({ reply: () => proposal, contextTokens: 2048 });
    const { findings } = await check(
      `environment: CartPole-v1\nmodel: { provider: ollama, name: tiny, host: "${server.url}", maxTokens: 300 }\nmemory: { tokens: 24000 }\n`,
      { online: true },
    );
    expect(bad({ findings } as Checked)).toEqual([
      expect.objectContaining({
        level: 'error',
        message: expect.stringContaining('context has only 2048'),
        hint: expect.stringContaining('memory.tokens=1024'),
      }),
    ]);
  });
});

describe('a run', () => {
  const args = { overrides: [], runsDir: 'buffers', quiet: true, json: false } as const;

  it('is rejected if the check finds errors, and reports warnings once', async () => {
    const cwd = temporaryDirectory();
    const file = join(cwd, 'my.yaml');
    const { context, noted } = recordingContext(cwd);
    writeFileSync(file, 'environment: Nim-v0\nmodel: { provider: random }\nlimits: { evaluations: 3 }\n');
    await expect(runCommand({ ...args, config: file, dryRun: false }, context)).rejects.toThrow(
      /my\.yaml:3:\d+: limits\.evaluations: .*stop before its first iteration/,
    );
    writeFileSync(
      file,
      'environment: CartPole-v1\nmodel: { provider: random }\nprompts: { optimum: 900 }\niterations: 1\nwarmup: 1\nevaluation: { episodes: 1 }\nconfirmation: { candidates: 0 }\n',
    );
    expect(
      await runCommand({ ...args, config: file, dryRun: false, runDir: join(cwd, 'out') }, context),
    ).toBe(0);
    expect(noted.filter((text) => text.includes('prompts.optimum'))).toEqual([
      expect.stringMatching(/warning.*prompts\.optimum: exceeds 500, .*an episode of CartPole-v1/s),
    ]);
  });

  const quick =
    'environment: CartPole-v1\nwarmup: 1\nevaluation: { episodes: 1, maxSteps: 20 }\nconfirmation: { candidates: 0 }\nrepeats: parameters\n';
  const answer = Array.from({ length: 10 }, (_, i) => `params[${i}]: 1.0`).join(', ');
  type Server = Awaited<ReturnType<typeof startFakeOllama>>;
  const chats = ({ requests }: Server) => requests.filter(({ path }) => path === '/api/chat');

  async function play(server: Server, more: string) {
    const cwd = temporaryDirectory();
    const { context, noted } = recordingContext(cwd);
    const file = join(cwd, 'my.yaml');
    const model = `model: { provider: ollama, name: tiny, host: "${server.url}", maxTokens: 300 }\n`;
    writeFileSync(file, quick + model + more);
    const out = join(cwd, 'out');
    const played = runCommand({ ...args, config: file, dryRun: false, runDir: out }, context);
    return { played, noted, text: quick + model + more, out };
  }

  it('sets its memory budget from the context of its server, and keeps it on another server', async () => {
    let asked = 0;
    const reply = () => answer.replace('1.0', (asked++ / 10).toFixed(1));
    const server = await startFakeOllama({ reply, contextTokens: 8192, strict: true });
    const later = await startFakeOllama({ reply, contextTokens: 16_384, strict: true });
    const { noted, out, played } = await play(server, 'iterations: 60\n');
    expect(await played).toBe(0);
    expect(noted.filter((text) => text.includes('context has'))).toEqual([]);
    const memoryOf = () =>
      (parse(readFileSync(join(out, 'config.yaml'), 'utf8')) as { memory: { tokens: number } }).memory;
    expect(memoryOf().tokens).toBe(4096);
    const { context } = recordingContext(dirname(out));
    const overrides = ['iterations=62', `model.host=${later.url}`];
    expect(await resumeRun({ ...args, run: out, overrides }, context)).toBe(0);
    expect(memoryOf().tokens).toBe(4096);
    expect(chats(later).length).toBeGreaterThan(0);
    expect(readManifest(out).usage.faults).toBeUndefined();
  });

  it('uses one context window for all its calls, and check uses the same one', async () => {
    const server = await startFakeOllama({ reply: () => answer, strict: true });
    const { played, text } = await play(server, 'iterations: 40\ncorrections: 0\n');
    expect(await played).toBe(0);
    await check(text, { online: true });
    const windows = chats(server).map(({ body }) => (body.options as { num_ctx: number }).num_ctx);
    expect(windows.length).toBeGreaterThan(41);
    expect(new Set(windows).size).toBe(1);
  });

  it('ends with a hint when prompts no longer fit, and sends each such prompt once', async () => {
    let asked = 0;
    const reply = () => answer.replace('1.0', (asked++ / 10).toFixed(1));
    const server = await startFakeOllama({ reply, contextTokens: 1200, strict: true });
    const { played, out } = await play(
      server,
      'iterations: 60\nlimits: { calls: 999 }\ncorrections: 3\nmemory: { tokens: 24000 }\n',
    );
    expect(await played).toBe(1);
    const { reason, usage } = readManifest(out);
    expect(reason).toMatchObject({
      kind: 'model-error',
      message: expect.stringMatching(/exceeds.*memory\.tokens/),
    });
    expect(usage.faults).toMatchObject({ 'too-long': 3 });
  });
});
