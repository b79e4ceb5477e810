import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/commands.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/experiments.js';

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the CLI in another directory. */
function cli(
  cwd: string,
  args: readonly string[],
  onStderr?: (text: string, kill: () => void) => void,
  onStdout?: (stdout: Readable) => void,
): Promise<Ended> {
  const child = spawn(process.execPath, [built('src/cli.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1', HOME: join(cwd, 'home'), LC_ALL: 'de_DE' },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    onStdout?.(child.stdout);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    onStderr?.(stderr, () => child.kill('SIGINT'));
  });
  return new Promise((done) => child.on('close', (code) => done({ code, stdout, stderr })));
}

const config = `environment: CartPole-v1
model: { provider: cma-es }
iterations: 8
warmup: 4
evaluation: { episodes: 3 }
confirmation: { episodes: 10 }
`;

function workplace(text = config): string {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'config.yaml'), text);
  return cwd;
}

const lastJson = (stdout: string) =>
  JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Record<string, unknown>;

describe('policyloop', () => {
  it('replaces ~ and $HOME in options and overrides, and creates no folder named ~', async () => {
    const cwd = workplace();
    const ended = await cli(cwd, ['run', 'config.yaml', 'iterations=1', '--run-dir=~/a', '--quiet']);
    expect(ended.code, ended.stderr).toBe(0);
    const next = ['config.yaml', 'iterations=1', 'warmup.from=$HOME/a', '--run-dir', `\${HOME}/b`];
    expect(await cli(cwd, ['run', ...next, '--quiet'])).toMatchObject({ code: 0 });
    expect((await cli(cwd, ['show', '$HOME/b', '--json'])).code).toBe(0);
    const refused = await cli(cwd, ['run', 'config.yaml', '--run-dir=~bob/c']);
    expect(refused.stderr).toMatch(/--run-dir: ~bob isn't expanded/);
    expect((await cli(cwd, ['run', 'config.yaml', '--runs-dir', 'x/~/c'])).stderr).toMatch(/contains ~/);
    expect(readdirSync(join(cwd, 'home')).toSorted()).toEqual(['a', 'b']);
    expect(readdirSync(cwd).toSorted()).toEqual(['config.yaml', 'home']);
  });

  it('runs, shows, lists, evaluates and resumes an experiment', async () => {
    const cwd = workplace();
    const run = await cli(cwd, ['run', 'config.yaml', 'seed=3', '--run-dir', 'buffers/a', '--json']);
    expect(run.code).toBe(0);
    const events = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind?: string });
    expect(events.slice(0, 2).map(({ kind }) => kind)).toEqual(['run-started', 'warmup-evaluated']);
    const result = lastJson(run.stdout);
    const evaluations = readFileSync(join(cwd, 'buffers/a/evaluations.jsonl'), 'utf8').trimEnd().split('\n');
    const scores = evaluations.map((line) => (JSON.parse(line) as { score: number }).score);
    expect(result).toMatchObject({
      run: 'buffers/a',
      status: 'completed',
      iterations: 8,
      best: { return: Math.max(...scores), parameters: expect.any(Array) },
      confirmed: { mean: expect.any(Number), ci95: [expect.any(Number), expect.any(Number)], episodes: 10 },
      usage: { calls: 8 },
    });
    expect(evaluations).toHaveLength(12);
    expect(existsSync(join(cwd, 'buffers/a/report.html'))).toBe(true);

    const again = await cli(cwd, ['run', 'config.yaml', '--run-dir', 'buffers/a']);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('this directory already contains a run');
    expect(again.stderr).toMatch(/hint: resume it with policyloop resume /);
    expect(readFileSync(join(cwd, 'buffers/a/evaluations.jsonl'), 'utf8').trimEnd().split('\n')).toEqual(
      evaluations,
    );

    const resumed = await cli(cwd, ['resume', 'a', 'iterations=10', '--json']);
    expect(resumed.code).toBe(0);
    expect(lastJson(resumed.stdout)).toMatchObject({ run: 'buffers/a', iterations: 10 });

    const list = await cli(cwd, ['list']);
    expect(list.stdout).toMatch(/^# +run +status +environment/m);
    expect(list.stdout).toMatch(/^1 +a +completed +CartPole-v1 +baseline\/cma-es +10\/10/m);

    const show = await cli(cwd, ['show', 'buffers/a']);
    expect(show.stdout).toContain('finished, 10 of 10 iterations, 14 evaluations');
    expect(show.stdout).toMatch(/pole angular velocity +[−\d.]+ +[−\d.]+/);

    const evaluated = await cli(cwd, ['evaluate', 'a', '--episodes', '7', '--json']);
    expect(lastJson(evaluated.stdout)).toMatchObject({
      episodes: 7,
      ci95: [expect.any(Number), expect.any(Number)],
    });

    const report = await cli(cwd, ['report', 'a']);
    expect(report.stdout.trim()).toBe(join('buffers', 'a', 'report.html'));
  });

  it('stops cleanly at Ctrl-C, and resumes', async () => {
    const cwd = workplace(config.replace('iterations: 8', 'iterations: 100000'));
    let killed = false;
    const run = await cli(cwd, ['run', 'config.yaml', '--run-dir', 'r'], (stderr, kill) => {
      if (!killed && stderr.includes('iteration 3/')) {
        killed = true;
        kill();
      }
    });
    expect(run.code).toBe(130);
    expect(run.stderr).toContain('finishing pending work');
    expect(run.stdout).toMatch(/^interrupted after .*$/m);
    expect(run.stdout).toMatch(/^resume +policyloop resume r$/m);
    const lines = readFileSync(join(cwd, 'r/evaluations.jsonl'), 'utf8').trimEnd().split('\n').length;
    const resumed = await cli(cwd, ['resume', 'r', `iterations=${lines}`, '--json']);
    expect(resumed.code).toBe(0);
    expect(lastJson(resumed.stdout)).toMatchObject({ iterations: lines });
  });

  it('ends a dry run at the first Ctrl-C, even during work that never returns', async () => {
    const cwd = workplace();
    writeFileSync(join(cwd, 'endless.mjs'), 'process.stderr.write("reading"); for (;;);\n');
    const args = ['run', 'config.yaml', 'environment=./endless.mjs', '--dry-run'];
    expect(await cli(cwd, args, (_, kill) => kill())).toMatchObject({ code: null, stderr: 'reading' });
  });

  it('does not resume a run whose evaluation.episodes has changed, and names the key', async () => {
    const cwd = workplace();
    await cli(cwd, ['run', 'config.yaml', '--run-dir', 'r', '--quiet']);
    const resumed = await cli(cwd, ['resume', 'r', 'evaluation.episodes=5', 'iterations=20']);
    expect(resumed.code).toBe(2);
    expect(resumed.stderr).toContain("evaluation.episodes: can't change within a run: it was 3");
    const complete = await cli(cwd, ['resume', 'r']);
    expect(complete.code).toBe(2);
    expect(complete.stderr).toContain('this run is complete after 8 iterations\n');
  });

  it('ends a run cleanly when the reader of its output goes away', async () => {
    const cwd = workplace(config.replace('iterations: 8', 'iterations: 100000'));
    const run = cli(cwd, ['run', 'config.yaml', '--run-dir', 'r', '--json'], undefined, (stdout) => {
      if (stdout.readableFlowing) stdout.destroy();
    });
    expect((await run).code).toBe(130);
    expect(existsSync(join(cwd, 'r/run.lock'))).toBe(false);
    expect(readFileSync(join(cwd, 'r/manifest.json'), 'utf8')).toContain('"status": "interrupted"');
  });

  it('lists the intact runs when a manifest is damaged', async () => {
    const cwd = workplace();
    await cli(cwd, ['run', 'config.yaml', '--run-dir', 'buffers/good', '--quiet']);
    mkdirSync(join(cwd, 'buffers/bad'));
    writeFileSync(join(cwd, 'buffers/bad/manifest.json'), '{}');
    const list = await cli(cwd, ['list']);
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/^1 +good +completed/m);
    expect(list.stderr).toContain('bad: its manifest is damaged');
    const show = await cli(cwd, ['show', 'bad']);
    expect(show.code).toBe(2);
    expect(show.stderr).toMatch(/manifest\.json: this file is damaged: version/);
  });

  it('prints the config and the prompts in a dry run, and creates no run', async () => {
    const cwd = workplace();
    const { code, stdout } = await cli(cwd, ['run', 'config.yaml', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toContain('kind: linear');
    expect(stdout).toContain('# CartPole-v1, 10 parameters, baseline/cma-es');
    expect(stdout).toMatch(/--- system ---[\s\S]+--- user ---/);
    expect(existsSync(join(cwd, 'buffers'))).toBe(false);
  });

  it('prints help, usage and descriptions of environments', async () => {
    const cwd = temporaryDirectory();
    const bare = await cli(cwd, []);
    expect([bare.code, bare.stdout]).toEqual([2, expect.stringContaining('policyloop run quickstart')]);
    const { stdout } = await cli(cwd, ['--help']);
    for (const [name] of commands) expect(stdout).toMatch(new RegExp(`^  ${name.split(' ')[0]} `, 'm'));
    expect((await cli(cwd, ['run'])).stderr).toContain('usage: policyloop run <config> [overrides..]');
    expect((await cli(cwd, ['models', 'chek'])).stderr).toMatch(
      /did you mean `models check`\?.*policyloop models --help/,
    );
    expect((await cli(cwd, ['run', '--help'])).stdout).toContain('policyloop run <config> [overrides..]');
    expect((await cli(cwd, ['export', '--help'])).stdout).not.toContain('program');
    expect((await cli(cwd, ['environments'])).stdout).toMatch(/^CartPole-v1 +Box\(4\) +Discrete\(2\) +500$/m);
    const lake = (await cli(cwd, ['environments', 'FrozenLake-v1'])).stdout;
    expect(lake).toMatch(/is_slippery +true\n/);
    expect(lake).toMatch(/max_episode_steps +100\n/);
    for (const part of ['observation  Discrete(16)', 'Actions:', 'Reward']) expect(lake).toContain(part);
    const cheetah = (await cli(cwd, ['environments', 'HalfCheetah-v4'])).stdout;
    expect(cheetah).toMatch(/^HalfCheetah-v5\nHalfCheetah-v4 runs as HalfCheetah-v5, /);
    expect((await cli(cwd, ['list'])).stderr).toContain('no runs in buffers');
  });
});

describe('policyloop reports', () => {
  it.each([
    ['an unknown key', ['iterations', 'iteration'], '', [/config\.yaml:3:1/, /iteration/, /iterations/]],
    ['a wrong type', ['iterations: 8', 'iterations: many'], '', [/config\.yaml:3:13/, /iterations/, /many/]],
    ['an unknown environment', ['Pole', 'Pol'], '', [/config\.yaml:1:14/, /CartPole-v1/]],
    ['an unsuitable policy kind', ['CartPole', 'FrozenLake'], 'policy.kind=linear', [/q-table/]],
    ['a missing API key', ['cma-es', 'openai, name: gpt-5'], '', [/OPENAI_API_KEY/]],
    ['a missing file', ['', ''], 'prompts.set=./nowhere', [/nowhere/]],
    ['a bad override', ['', ''], 'iterations', [/iterations/, /key=value/]],
    ['an option without its value', ['', ''], '--run-dir', [/run-dir/]],
    ['a repeated option', ['', ''], '--run-dir a --run-dir b', [/--run-dir: .*only once/]],
  ] as const)('%s on one screen, without a stack trace', async (_name, [right, wrong], words, patterns) => {
    const cwd = workplace(config.replace(right, wrong));
    const more = words === '' ? [] : words.split(' ');
    const { code, stdout, stderr } = await cli(cwd, ['run', 'config.yaml', ...more]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    for (const pattern of patterns) expect(stderr).toMatch(pattern);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(stderr.split('\n').length).toBeLessThan(24);
    expect(existsSync(join(cwd, 'buffers'))).toBe(false);
  });

  it('the line of a syntax error in a module', async () => {
    const cwd = workplace();
    writeFileSync(join(cwd, 'own.mjs'), 'export default {\n  create() {\n    const a = ;\n  },\n};\n');
    const { code, stderr } = await cli(cwd, ['run', 'config.yaml', 'environment.id=./own.mjs']);
    expect(code).toBe(2);
    expect(stderr).toContain("own.mjs:3: can't be imported: Unexpected token ';'");
  });

  it.each([
    ['trian quickstart', /unknown command: trian\n.*did you mean `finetune train`\?.* policyloop --help/],
    ['frobnicate a --b', /unknown command: frobnicate\n.*see policyloop --help/],
    ['run quickstart --dry-rnu', /unknown option: --dry-rnu;.*\n.*did you mean `--dry-run`\?/],
    ['run quickstart --model.topP=1', /for a config key, write model\.topP=1 without dashes/],
    ['run quickstart --temperature 1', /did you mean `model\.temperature`.*\? Otherwise, see/],
    ['run quickstart --repeats 3', /hint: use policyloop sweep CONFIG seed=1\.\.3 .*; see/],
    ['run quickstart --out x', /hint: write, for example, policyloop run quickstart; see/],
    [
      'show x a.b=1',
      /unknown argument: a.b=1;.*\n.*config keys follow a config, as in .* run CONFIG a.b=1; see/,
    ],
    ['init env x.mjs', /^error unknown kind: env; usage.*\n {2}hint: did you mean `environment`\?/],
    ['rm latest', /^error unknown command: rm\n {2}hint: did you mean `remove`\?/],
    ['list --tag X', /unknown option: --tag;.*\n.*write, for example, policyloop list tag=baseline /],
    ['tag --remove x', /unknown option: --remove;.*\n.*policyloop tag cartpole baseline --off/],
    ['init environment', /missing: <file>;.*\n.*policyloop init environment my-env\.mjs/],
    ['run quickstart modle=1 mode=2', /^error override .*: unknown key\n {2}hint: .*\nerror override /],
    ['run confg.yaml', /^error confg\.yaml: no such file.*\n {2}hint: did you mean `config\.yaml`\?/],
    ['finetune export x', /missing: --to, --out; usage: policyloop finetune export <source>/],
  ])('the mistake in "%s", with a hint or the usage', async (line, message) => {
    const { code, stderr } = await cli(workplace(), line.split(' '));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
